// Tests what the words of a box about its limits are worth.
#include "sandbox/enforcement.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace {

using nlohmann::json;
using sandbox::enforcement_of;
using sandbox::enforcement_to_json;

TEST(Enforcement, EachLimitHasALevelInTheOrderOfTheTable) {
  const auto levels = enforcement_of({});
  ASSERT_EQ(levels.size(), std::size(sandbox::kLimitRows));
  for (std::size_t i = 0; i < levels.size(); ++i) {
    EXPECT_STREQ(levels[i].limit, sandbox::kLimitRows[i].name);
  }
}

TEST(Enforcement, WhatTheKernelRefusesIsHard) {
  const json told = enforcement_to_json(enforcement_of({.memory = "cgroup v1",
                                                        .processes = "cgroup v2",
                                                        .cpus = "CPU affinity",
                                                        .disk = "project quota"}));
  for (const auto& row : sandbox::kLimitRows) EXPECT_EQ(told[row.name], "hard") << row.name;
}

TEST(Enforcement, EachPartOfACgroupCountsByItself) {
  const json told =
      enforcement_to_json(enforcement_of({.memory = "watched, and an rlimit per process",
                                          .processes = "rlimit",
                                          .cpus = "cgroup v2",
                                          .disk = "watched"}));
  EXPECT_EQ(told, json({{"memory_mb", "watched"},
                        {"cpus", "hard"},
                        {"processes", "hard"},
                        {"disk_mb", "watched"},
                        {"files", "watched"},
                        {"open_files", "hard"},
                        {"run_seconds", "hard"},
                        {"output_mb", "hard"}}));
}

TEST(Enforcement, AnRlimitHoldsEverybodyButTheHostsRoot) {
  const char* spared = "an rlimit, which the kernel spares root";
  EXPECT_EQ(enforcement_to_json(enforcement_of({.processes = spared}))["processes"], "none");
}

// A box may lie, but what nobody here knows promises nothing.
TEST(Enforcement, UnknownWordsAreWorthNothing) {
  const sandbox::Isolation unknown{.memory = "cgroup v3", .disk = "hard"};
  for (const sandbox::Isolation& isolation : {sandbox::Isolation(), unknown}) {
    const json told = enforcement_to_json(enforcement_of(isolation));
    for (const char* limit : {"memory_mb", "processes", "cpus", "disk_mb", "files"}) {
      EXPECT_EQ(told[limit], "none") << isolation.memory;
    }
    EXPECT_EQ(told["open_files"], "hard") << "a box without that rlimit does not start";
  }
}

}  // namespace
