// A clock that leaps, and a sweep that would delete very much.
#include "sessions/deletion_hold.h"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace sessions;

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kDayMs = 24 * kHourMs;
constexpr std::int64_t kWeek = 7LL * 86'400;

// A machine whose clock can be set, with one server that sweeps.
class DeletionHold : public ::testing::Test {
 protected:
  DeletionHold() { (void)sweep({0, 50}); }

  void pass(std::int64_t ms) {
    now_.now_ms += ms;
    now_.boottime_ms += ms;
    now_.uptime_ms += ms;
  }
  // Whether it may delete.
  bool sweep(const Due& due) {
    decision_ = decide(upkeep_, now_, served_since_ms_, due, kWeek);
    upkeep_ = decision_.next;
    served_since_ms_ = now_.uptime_ms;
    return decision_.may_delete;
  }
  // As a server does that stays: how many sweeps were held back.
  int sweep_for(std::int64_t ms, const Due& due) {
    int held = 0;
    for (std::int64_t left = ms; left > 0; left -= kHourMs) {
      pass(kHourMs);
      held += sweep(due) ? 0 : 1;
    }
    return held;
  }

  Moment now_{1'700'000'000'000, "boot", 1000, 1000};
  std::int64_t served_since_ms_ = 1000;
  Upkeep upkeep_;
  HoldDecision decision_;
};

TEST_F(DeletionHold, WhatIsUsualIsDeleted) {
  pass(60'000);
  EXPECT_TRUE(sweep({1, 1}));
  EXPECT_TRUE(sweep({19, 19})) << "fewer than twenty";
  EXPECT_TRUE(sweep({20, 200})) << "no more than a tenth";
  pass(3 * kDayMs);  // a long weekend without a server
  EXPECT_TRUE(sweep({1, 50}));
}

TEST_F(DeletionHold, AClockThatLeapsDeletesNothingForADayOfServers) {
  pass(60'000);
  now_.now_ms += 8 * kDayMs;
  EXPECT_FALSE(sweep({3, 3}));
  EXPECT_TRUE(decision_.has_begun);
  EXPECT_NE(words_of_hold(upkeep_).find("the clock is 8 days ahead"), std::string::npos)
      << words_of_hold(upkeep_);
  EXPECT_FALSE(may_delete(upkeep_, now_.now_ms));
  EXPECT_EQ(sweep_for(23 * kHourMs, {3, 3}), 23);
  EXPECT_FALSE(decision_.has_begun) << "told once";
  EXPECT_EQ(sweep_for(kHourMs, {3, 3}), 0) << "then it is so";
  EXPECT_TRUE(may_delete(upkeep_, now_.now_ms));
}

TEST_F(DeletionHold, OnlyTimeOfServersCounts) {
  now_.now_ms += 30 * kDayMs;
  EXPECT_FALSE(sweep({3, 3}));
  // Nobody is there for days, in another start of the machine.
  now_.now_ms += 10 * kDayMs;
  now_.boot_id = "another";
  now_.uptime_ms = now_.boottime_ms = served_since_ms_ = 5000;
  EXPECT_FALSE(sweep({3, 3}));
  EXPECT_EQ(upkeep_.held_ms, 0);
  // Nor does the time that it sleeps.
  now_.now_ms += 10 * kDayMs;
  now_.boottime_ms += 10 * kDayMs;
  EXPECT_FALSE(sweep({3, 3}));
  // With two servers at once, time counts once.
  pass(10 * kHourMs);
  EXPECT_FALSE(sweep({3, 3}));
  served_since_ms_ -= 10 * kHourMs;
  EXPECT_FALSE(sweep({3, 3}));
  EXPECT_EQ(upkeep_.held_ms, 10 * kHourMs);
}

TEST_F(DeletionHold, AClockPutRightWithinADayLosesNothing) {
  now_.now_ms += 30 * kDayMs;
  EXPECT_FALSE(sweep({50, 50}));
  EXPECT_EQ(sweep_for(20 * kHourMs, {50, 50}), 20);
  now_.now_ms -= 30 * kDayMs;
  EXPECT_TRUE(sweep({0, 50})) << "nothing is over its time now";
  EXPECT_FALSE(upkeep_.held_at);
  // The next leap is one of its own.
  pass(60'000);
  now_.now_ms += 30 * kDayMs;
  EXPECT_FALSE(sweep({50, 50}));
  EXPECT_TRUE(decision_.has_begun);
}

TEST_F(DeletionHold, ALeapIsNoticedBeforeAnythingIsDue) {
  now_.now_ms += 4 * kDayMs;
  EXPECT_FALSE(sweep({0, 50}));
  pass(kHourMs);
  EXPECT_FALSE(sweep({5, 50})) << "of which three days are not true";
  now_.now_ms -= 4 * kDayMs;
  EXPECT_TRUE(sweep({0, 50}));
  // Where there is nothing there is nothing to hold.
  now_.now_ms += 30 * kDayMs;
  EXPECT_TRUE(sweep({0, 0}));
}

TEST_F(DeletionHold, ALeapIsNoticedWhereNoSessionIsLeftButWhatTheyLeft) {
  const Due others{0, 0, true};
  pass(3 * kDayMs);
  EXPECT_TRUE(sweep(others));
  now_.now_ms += 30 * kDayMs;
  EXPECT_FALSE(sweep(others));
  EXPECT_TRUE(decision_.has_begun);
  EXPECT_FALSE(may_delete(upkeep_, now_.now_ms)) << "nor between sweeps";
  EXPECT_EQ(sweep_for(20 * kHourMs, others), 20);
  now_.now_ms -= 30 * kDayMs;
  EXPECT_TRUE(sweep(others));
}

TEST_F(DeletionHold, BetweenSweepsALeapIsNoticedToo) {
  EXPECT_TRUE(may_delete(upkeep_, now_.now_ms + 60'000));
  EXPECT_FALSE(may_delete(upkeep_, now_.now_ms + 4 * kDayMs));
  EXPECT_TRUE(may_delete(Upkeep(), now_.now_ms)) << "no server was ever there";
}

TEST_F(DeletionHold, MuchAtOnceWaitsOnce) {
  pass(60'000);
  EXPECT_FALSE(sweep({20, 100}));
  EXPECT_NE(words_of_hold(upkeep_).find("20 of 100 sessions"), std::string::npos);
  EXPECT_EQ(sweep_for(23 * kHourMs, {15, 100}), 23) << "also when it has become less";
  pass(kHourMs);
  EXPECT_TRUE(sweep({60, 100}));
  pass(60'000);
  EXPECT_TRUE(sweep({40, 80})) << "that one was cut short";
}

}  // namespace
