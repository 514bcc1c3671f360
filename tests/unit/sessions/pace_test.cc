// Expensive work is free for a while, then has a share of the time.
#include "sessions/pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace {

using namespace sessions;
using std::chrono::milliseconds;

TEST(PaceTest, WorkIsFreeForAWhileAndThenHasItsPartOfTheTime) {
  Pace pace;
  const Pace::Clock::time_point begin = Pace::Clock::now();
  auto now = begin;
  milliseconds worked{0};
  while (pace.next() <= now) {
    pace.add(now, now + milliseconds(10));
    now += milliseconds(10);
    worked += milliseconds(10);
  }
  EXPECT_GE(worked, Pace::kFree);
  EXPECT_LE(worked, 2 * Pace::kFree);
  while (now < begin + milliseconds(10'000)) {
    now = std::max(now, pace.next());
    pace.add(now, now + milliseconds(10));
    now += milliseconds(10);
    worked += milliseconds(10);
  }
  EXPECT_LE(worked, Pace::kFree * 2 + milliseconds(10'000) / Pace::kOneTimeIn);
  EXPECT_FALSE(pace.is_rested(now));
  EXPECT_TRUE(pace.is_rested(now + milliseconds(1'000)));
}

TEST(PaceTest, WorkThatOnlyWaitsIsNotCountedInFull) {
  Pace pace;
  const auto now = Pace::Clock::now();
  for (int i = 0; i < 3; ++i) pace.add(now, now + milliseconds(2'000));
  EXPECT_LE(pace.next() - now, Pace::kOneTimeIn * 3 * Pace::kCountedMax);
}

TEST(PaceTest, ARestMakesWorkFreeAgain) {
  Pace pace;
  const auto now = Pace::Clock::now();
  EXPECT_TRUE(pace.is_rested(now));
  pace.add(now, now + std::chrono::hours(1));
  const auto rested = now + Pace::kOneTimeIn * Pace::kCountedMax;
  EXPECT_FALSE(pace.is_rested(rested - milliseconds(1)));
  EXPECT_TRUE(pace.is_rested(rested));
  pace.add(rested, rested + milliseconds(10));
  EXPECT_LE(pace.next(), rested) << "what is free may be begun at once";
}

}  // namespace
