// Sessions give their memory back before the host has none.
#include "sandbox/box/host_memory.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_directory.h"

namespace sandbox::box {
namespace {

TEST(HostMemory, ATenthIsLittleAndATwentiethScarce) {
  EXPECT_EQ(memory_left(100, 1000), MemoryLeft::kEnough);
  EXPECT_EQ(memory_left(99, 1000), MemoryLeft::kLittle);
  EXPECT_EQ(memory_left(50, 1000), MemoryLeft::kLittle);
  EXPECT_EQ(memory_left(49, 1000), MemoryLeft::kScarce);
  EXPECT_EQ(memory_left(-5, 1000), MemoryLeft::kScarce);
}

TEST(HostMemory, TheKernelSaysWhatIsAvailable) {
  EXPECT_EQ(memory_left_by("MemTotal:       24684000 kB\nMemFree:          100 kB\n"
                           "MemAvailable:   22496000 kB\n"),
            MemoryLeft::kEnough);
  EXPECT_EQ(memory_left_by("MemTotal: 1000 kB\nMemAvailable: 70 kB\n"), MemoryLeft::kLittle);
  EXPECT_EQ(memory_left_by("MemTotal: 1000 kB\nMemAvailable: 7 kB\n"), MemoryLeft::kScarce);
}

TEST(HostMemory, WhatTheKernelTakesBackFromACgroupIsLeft) {
  const TemporaryDirectory cgroup;
  const auto write = [&cgroup](const char* name, const char* content) {
    std::ofstream(cgroup.path() + "/" + name) << content;
  };
  EXPECT_EQ(memory_left_in(cgroup.path()), MemoryLeft::kEnough);
  write("memory.current", "970\n");
  write("memory.stat",
        "anon 900\ninactive_file 20\nactive_file 10\nslab_reclaimable 10\nfile 40\n");
  write("memory.max", "max\n");
  EXPECT_EQ(memory_left_in(cgroup.path()), MemoryLeft::kEnough);
  write("memory.max", "1000\n");
  EXPECT_EQ(memory_left_in(cgroup.path()), MemoryLeft::kLittle);
  write("memory.current", "995\n");
  EXPECT_EQ(memory_left_in(cgroup.path()), MemoryLeft::kScarce);
  write("memory.current", "900\n");
  EXPECT_EQ(memory_left_in(cgroup.path()), MemoryLeft::kEnough);
}

TEST(HostMemory, WhatCannotBeReadEndsNobody) {
  for (const char* text : {"", "MemTotal: x kB\n", "MemTotal:", "MemAvailable: 7 kB\n"}) {
    EXPECT_EQ(memory_left_by(text), MemoryLeft::kEnough) << text;
  }
  EXPECT_NO_THROW((void)HostMemory().left());
}

}  // namespace
}  // namespace sandbox::box
