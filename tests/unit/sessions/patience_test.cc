// Whoever waits for another process looks first, and gives up when the time is over.
#include "sessions/patience.h"

#include <gtest/gtest.h>

#include <chrono>

namespace sessions {
namespace {

TEST(Patience, WhatIsSoIsNotWaitedFor) {
  int asked = 0;
  EXPECT_TRUE(wait_until(std::chrono::milliseconds(0), [&asked] { return ++asked == 1; }));
  EXPECT_EQ(asked, 1);
}

TEST(Patience, ItIsAskedAgainUntilItIsSo) {
  int asked = 0;
  EXPECT_TRUE(wait_until(std::chrono::minutes(1), [&asked] { return ++asked == 3; }));
  EXPECT_EQ(asked, 3);
}

TEST(Patience, WhatNeverComesTrueIsGivenUp) {
  int asked = 0;
  const auto never = [&asked] { return ++asked < 0; };
  EXPECT_FALSE(wait_until(std::chrono::milliseconds(0), never));
  EXPECT_EQ(asked, 1) << "once without patience";
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_FALSE(wait_until(std::chrono::milliseconds(30), never));
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(30));
  EXPECT_GT(asked, 2);
}

}  // namespace
}  // namespace sessions
