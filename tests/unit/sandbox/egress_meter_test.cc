// Tests what a session and its principal may send and receive, as it is counted at the door.
#include <gtest/gtest.h>

#include "sandbox/egress/meter.h"

namespace {

using sandbox::egress::DailyMeter;
using sandbox::egress::Meter;

TEST(MeterTest, IsToldOnceThatASessionHasUsedItUp) {
  int told = 0;
  Meter meter([&told] { ++told; });
  meter.add(1'000'000'000);
  EXPECT_EQ(told, 0) << "nobody has bounded it";
  meter.set(10);
  meter.add(9);
  EXPECT_EQ(told, 0);
  meter.add(1);
  meter.add(1);
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(meter.is_used_up());
  meter.set(5);  // the operator has given more
  EXPECT_FALSE(meter.is_used_up());
  meter.add(2);
  meter.add(9);
  EXPECT_EQ(told, 2);
}

TEST(MeterTest, SessionsOfAPrincipalUseUpOneDayTogether) {
  std::int64_t today = 7;
  const auto daily = std::make_shared<DailyMeter>([&today] { return today; });
  int told_first = 0;
  int told_second = 0;
  Meter first([&] { ++told_first; });
  Meter second([&] { ++told_second; });
  for (Meter* meter : {&first, &second}) meter->set_daily(daily);
  daily->allow({.day = 7, .bytes_left = 10, .bytes_a_day = 100});
  first.add(6);
  // Another session began when the database had heard of nothing yet.
  daily->allow({.day = 7, .bytes_left = 10, .bytes_a_day = 100});
  second.add(4);
  EXPECT_TRUE(first.is_used_up_today());
  EXPECT_FALSE(first.is_used_up());
  EXPECT_EQ(told_first, 0) << "it has not sent anything since";
  EXPECT_EQ(told_second, 1);
  first.add(1);
  EXPECT_EQ(told_first, 1);
  today = 8;
  EXPECT_FALSE(first.is_used_up_today());
  first.add(99);
  EXPECT_EQ(told_first, 1);
  first.add(1);
  EXPECT_EQ(told_first, 2);
}

TEST(MeterTest, ADayThatIsOverIsNotCountedAgainstTheNext) {
  std::int64_t today = 8;
  DailyMeter daily([&today] { return today; });
  daily.add(1000);
  EXPECT_FALSE(daily.is_used_up()) << "nobody has bounded it";
  daily.allow({.day = 7, .bytes_left = 0, .bytes_a_day = 50});
  EXPECT_FALSE(daily.is_used_up()) << "midnight was between the box's start and this";
  daily.add(50);
  EXPECT_TRUE(daily.is_used_up());
  daily.allow({.day = 8, .bytes_left = 40, .bytes_a_day = 50});
  EXPECT_TRUE(daily.is_used_up());
  daily.allow({.day = 7, .bytes_left = 40, .bytes_a_day = 50});
  EXPECT_TRUE(daily.is_used_up()) << "a box of yesterday gives nothing back";
}

TEST(MeterTest, MoreThatTheOperatorGivesHoldsOnTheSameDay) {
  DailyMeter daily([] { return std::int64_t{8}; });
  daily.allow({.day = 8, .bytes_left = 50, .bytes_a_day = 50});
  EXPECT_FALSE(daily.counts_today());
  daily.add(20);
  EXPECT_TRUE(daily.counts_today()) << "nobody else may have heard of it";
  daily.allow({.day = 8, .bytes_left = 100, .bytes_a_day = 100});
  daily.add(79);
  EXPECT_FALSE(daily.is_used_up());
  daily.add(1);
  EXPECT_TRUE(daily.is_used_up());
}

}  // namespace
