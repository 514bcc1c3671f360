// Which ids on the host the sessions of a state directory get.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>

#include "sessions/host_uids.h"

namespace {

using sessions::host_uids_of;

TEST(HostUids, TwoStateDirectoriesBeginAtDifferentOnes) {
  std::string top = ::testing::TempDir() + "hutch_uids_XXXXXX";
  ASSERT_NE(::mkdtemp(top.data()), nullptr);
  for (const char* name : {"/a", "/b"}) std::filesystem::create_directory(top + name);
  const auto a = host_uids_of(top + "/a").value();
  const auto b = host_uids_of(top + "/b").value();
  EXPECT_NE(a.first, b.first);
  EXPECT_EQ(a.first, host_uids_of(top + "/a").value().first) << "the same from start to start";
  for (const auto& ids : {a, b}) {
    EXPECT_GE(ids.first, 1'900'000'000);
    EXPECT_LT(ids.first + ids.count, 1LL << 31) << "an id for every kernel and tool";
    EXPECT_GE(ids.count, 1000);
  }
  std::filesystem::remove_all(top);
  EXPECT_FALSE(host_uids_of(top).ok());
}

}  // namespace
