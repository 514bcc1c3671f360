// Whose weight is found by the name of its cgroup.
#include "sandbox/cgroup_weight.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "sandbox/cgroup_directory.h"
#include "sandbox/cgroup_name.h"

namespace {

namespace fs = std::filesystem;
using sandbox::cgroup_weights_in;

// Directories stand for cgroups.
class CgroupWeightTest : public ::testing::Test {
 protected:
  CgroupWeightTest() : top_(::testing::TempDir() + "hutch_weight_XXXXXX") {
    if (::mkdtemp(top_.data()) == nullptr) std::abort();
    fs::create_directories(parent());
    for (const char* state : {"/a", "/b"}) {
      fs::create_directories(top_ + state + "/sessions/session_k2");
    }
  }
  ~CgroupWeightTest() override { fs::remove_all(top_); }

  [[nodiscard]] std::string parent() const { return top_ + "/cgroups"; }
  [[nodiscard]] std::string sessions_of(const std::string& state) const {
    return top_ + "/" + state + "/sessions";
  }
  // Returns the file of its weight.
  std::string made(const std::string& name, const std::string& file = "cpu.weight") {
    fs::create_directories(parent() + "/" + name);
    const std::string path = parent() + "/" + name + "/" + file;
    std::ofstream(path) << "1";
    return path;
  }

  std::string top_;
};

TEST_F(CgroupWeightTest, NeitherOfTwoCopiesOfASessionFindsThatOfTheOther) {
  const std::string a = made(sandbox::cgroup_name(sessions_of("a") + "/session_k2"));
  const std::string b = made(sandbox::cgroup_name(sessions_of("b") + "/session_k2"));
  ASSERT_NE(a, b);
  const auto of_a = cgroup_weights_in(parent(), 2, sessions_of("a"));
  ASSERT_EQ(of_a.size(), 1U);
  EXPECT_EQ(of_a.at("session_k2").file, a);
  ASSERT_TRUE(of_a.at("session_k2").set(2));
  EXPECT_EQ(sandbox::read_cgroup_file(a), "500");
  EXPECT_EQ(sandbox::read_cgroup_file(b), "1");
  const auto of_b = cgroup_weights_in(parent(), 2, sessions_of("b"));
  ASSERT_EQ(of_b.size(), 1U);
  EXPECT_EQ(of_b.at("session_k2").file, b);
}

TEST_F(CgroupWeightTest, WhatIsNoSessionsHereHasNone) {
  made("hutch-session_k2");  // as an older hutch named it, here or in a copy
  made("hutch-supervisor");
  made("user.slice");
  EXPECT_TRUE(cgroup_weights_in(parent(), 2, sessions_of("a")).empty());
  made(sandbox::cgroup_name(sessions_of("a") + "/session_k2"), "cpu.shares");
  EXPECT_TRUE(cgroup_weights_in(parent(), 2, sessions_of("a")).empty()) << "no such controller";
  EXPECT_EQ(cgroup_weights_in(parent(), 1, sessions_of("a")).size(), 1U);
  EXPECT_TRUE(cgroup_weights_in(parent() + "/none", 2, sessions_of("a")).empty());
}

}  // namespace
