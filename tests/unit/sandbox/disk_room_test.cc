// What a session leaves to the host.
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
  EXPECT_FALSE(sandbox::box::is_below_floor(-1));
  EXPECT_FALSE(sandbox::box::no_room_in({-1}));
}

}  // namespace
