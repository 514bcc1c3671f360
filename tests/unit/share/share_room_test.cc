// One principal's copies of shared files leave the disk to others.
#include "share/share_room.h"

#include <gtest/gtest.h>

namespace {

using share::check_share_room;

constexpr std::int64_t kDisk = std::int64_t{100} << 30;

TEST(ShareRoom, ATenthOfTheDiskIsForOnePrincipal) {
  const std::int64_t most = kDisk / 10;
  EXPECT_TRUE(check_share_room({.files = 3, .bytes = most - 5}, 5, kDisk).ok());
  const auto refused = check_share_room({.files = 3, .bytes = most - 5}, 6, kDisk);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, base::Error::Kind::kLimit);
  EXPECT_NE(refused.error().message.find("10240 MB, a tenth of the disk"), std::string::npos);
  EXPECT_NE(refused.error().message.find("hutch share rm"), std::string::npos);
}

TEST(ShareRoom, FilesHaveABound) {
  EXPECT_TRUE(check_share_room({.files = share::kSharesMax - 1, .bytes = 0}, 5, kDisk).ok());
  EXPECT_FALSE(check_share_room({.files = share::kSharesMax, .bytes = 0}, 0, kDisk).ok());
}

}  // namespace
