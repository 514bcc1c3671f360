// Tests what a session leaves to the host.
#include <gtest/gtest.h>

#include "sandbox/box/disk_room.h"

namespace {

using sandbox::box::floor_bytes;

constexpr std::int64_t kMiB = 1 << 20;

TEST(DiskRoom, TheFloorIsAShareOfASmallFileSystemAndNoMoreOfALargeOne) {
  EXPECT_EQ(floor_bytes(20 * kMiB), kMiB);
  EXPECT_EQ(floor_bytes(5 * 1024 * kMiB), 256 * kMiB);
  EXPECT_EQ(floor_bytes(4096 * 1024 * kMiB), 256 * kMiB);
  EXPECT_EQ(floor_bytes(0), 0);
}

TEST(DiskRoom, WhatSaysNothingOfItsSizeHasRoom) {
  const auto room = sandbox::box::measure_room({-1});
  EXPECT_FALSE(room.below_floor);
  EXPECT_EQ(room.free_bytes, std::vector<std::int64_t>{-1});
  EXPECT_FALSE(sandbox::box::no_room_in({-1}));
}

TEST(DiskRoom, WhatIsLostIsTheMostOfAnyFileSystem) {
  using sandbox::box::DiskRoom;
  const DiskRoom before{{100 * kMiB, 50 * kMiB, -1}, {10, -1, 7}};
  const DiskRoom now{{90 * kMiB, 80 * kMiB, 5}, {12, 4, 3}};
  EXPECT_EQ(sandbox::box::lost_bytes(before, now), 10 * kMiB);
  EXPECT_EQ(sandbox::box::lost_files(before, now), 4);
  EXPECT_EQ(sandbox::box::lost_bytes({}, now), 0);
}

}  // namespace
