// Numbers in the files of a cgroup, with a plain file in place of the kernel's.
#include "sandbox/cgroup_directory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace sandbox {
namespace {

class CgroupCounterTest : public ::testing::Test {
 protected:
  ~CgroupCounterTest() override { (void)::unlink(path_.c_str()); }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::trunc) << text; }

  const std::string path_ =
      ::testing::TempDir() + "hutch_cgroup_counter_" + std::to_string(::getpid());
};

TEST_F(CgroupCounterTest, ReadsTheNumberAnewEachTime) {
  write("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  const CgroupCounter counter(path_, "oom_kill");
  EXPECT_EQ(counter.value(), 1);
  write("oom_kill_disable 0\nunder_oom 0\noom_kill 27\n");
  EXPECT_EQ(counter.value(), 27);
  EXPECT_EQ(read_cgroup_number(path_, "oom_kill"), 27);
}

TEST_F(CgroupCounterTest, WithoutAKeyTheFileBeginsWithTheNumber) {
  write("4096\n");
  EXPECT_EQ(CgroupCounter(path_, "").value(), 4096);
}

TEST_F(CgroupCounterTest, IsZeroWhereThereIsNoSuchFileOrLine) {
  EXPECT_EQ(CgroupCounter().value(), 0);
  EXPECT_EQ(CgroupCounter(path_ + "-none", "max").value(), 0);
  write("min 3\n");
  EXPECT_EQ(CgroupCounter(path_, "max").value(), 0);
}

}  // namespace
}  // namespace sandbox
