// Tests what cgroups are called.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "sandbox/cgroup_name.h"

namespace {

namespace fs = std::filesystem;
using sandbox::cgroup_name;

TEST(CgroupName, IsAnotherInACopy) {
  std::string top = ::testing::TempDir() + "hutch_cgroup_XXXXXX";
  ASSERT_NE(::mkdtemp(top.data()), nullptr);
  fs::create_directories(top + "/a/sessions/session_k2");
  fs::copy(top + "/a", top + "/b", fs::copy_options::recursive);
  const std::string name = cgroup_name(top + "/a/sessions/session_k2");
  EXPECT_TRUE(name.starts_with("hutch-session_k2-")) << name;
  EXPECT_NE(name, cgroup_name(top + "/b/sessions/session_k2"));
  EXPECT_EQ(name, cgroup_name(top + "/a/sessions/session_k2")) << "the same from server to server";
  EXPECT_EQ(name.find_first_of("/. "), std::string::npos) << name;
  fs::rename(top + "/a", top + "/c");
  EXPECT_EQ(name, cgroup_name(top + "/c/sessions/session_k2")) << "renamed it is the same still";
  fs::remove(top + "/c/sessions/session_k2");
  EXPECT_EQ(name, cgroup_name(top + "/c/sessions/session_k2")) << "for what clears up after it";
  fs::remove_all(top);
}

}  // namespace
