// A lifetime goes by the start of the machine that its session was made in, else by the wall clock.
#include "sessions/session_time.h"

#include <gtest/gtest.h>

namespace sessions {
namespace {

constexpr std::int64_t kHour = 3'600'000;
constexpr std::int64_t kMadeAt = 1000 * kHour;
constexpr std::int64_t kMadeAtBoottime = 5 * kHour;

Session session_for(std::optional<std::int64_t> lifetime) {
  Session session;
  session.created_at = kMadeAt;
  session.boot_id = "this start";
  session.boot_offset_ms = kMadeAt - kMadeAtBoottime;
  session.lifetime_seconds = lifetime;
  return session;
}

// In the same start of the machine, by clocks that nobody has set.
Moment so_long_after(std::int64_t ms) {
  return {kMadeAt + ms, "this start", kMadeAtBoottime + ms, kMadeAtBoottime + ms};
}

TEST(SessionTimeTest, ASessionWithoutALifetimeIsForEver) {
  const Session session = session_for(std::nullopt);
  const Moment late = so_long_after(1'000'000 * kHour);
  EXPECT_EQ(lifetime_left_ms(session, late), std::nullopt);
  EXPECT_FALSE(lifetime_is_over(session, late));
  EXPECT_EQ(ends_at_ms(session), std::nullopt);
}

TEST(SessionTimeTest, AWallClockThatIsSetChangesNothing) {
  const Session session = session_for(60);
  Moment now = so_long_after(20'000);
  for (const std::int64_t set_by : {-30 * 24 * kHour, std::int64_t{0}, 30 * 24 * kHour}) {
    now.now_ms = kMadeAt + 20'000 + set_by;
    EXPECT_EQ(lifetime_left_ms(session, now), 40'000) << set_by;
  }
}

TEST(SessionTimeTest, AfterAnotherStartOnlyTheWallClockIsThere) {
  Session session = session_for(60);
  Moment now = so_long_after(20'000);
  now.boot_id = "another start";
  now.boottime_ms = 7;
  EXPECT_EQ(lifetime_left_ms(session, now), 40'000);
  now.now_ms += kHour;
  EXPECT_EQ(lifetime_left_ms(session, now), 40'000 - kHour);
  // A row of an older hutch, where neither has a name: these are not the same start.
  session.boot_id = now.boot_id = "";
  session.boot_offset_ms = 0;
  EXPECT_EQ(lifetime_left_ms(session, now), 40'000 - kHour);
}

TEST(SessionTimeTest, TheLastMillisecondIsOneOfTheLifetime) {
  Session session = session_for(60);
  EXPECT_FALSE(lifetime_is_over(session, so_long_after(59'999)));
  EXPECT_TRUE(lifetime_is_over(session, so_long_after(60'000)));
  session.pauses_at_end = true;
  EXPECT_FALSE(lifetime_is_over(session, so_long_after(60'000))) << "it is only paused";
}

TEST(SessionTimeTest, ItsEndIsTheSameAtEachLook) {
  const Moment now = moment_now();
  Session session = session_for(3600);
  session.created_at = now.now_ms;
  session.boot_id = now.boot_id;
  session.boot_offset_ms = now.now_ms - now.boottime_ms;
  const auto at_first = ends_at_ms(session);
  EXPECT_EQ(at_first, session.created_at + kHour);
  // As clocks that are read one after the other may differ.
  session.boot_offset_ms += 700;
  EXPECT_EQ(ends_at_ms(session), at_first);
}

TEST(SessionTimeTest, ItsEndIsToldByTheWallClockThatThereIs) {
  const Moment now = moment_now();
  Session session = session_for(3600);
  // It was made just now, by a clock that has been put back by a day since.
  session.created_at = now.now_ms + 24 * kHour;
  session.boot_id = now.boot_id;
  session.boot_offset_ms = session.created_at - now.boottime_ms;
  const auto told = ends_at_ms(session);
  ASSERT_TRUE(told.has_value());
  EXPECT_NEAR(static_cast<double>(*told), static_cast<double>(now.now_ms + kHour), 60'000);
}

TEST(SessionTimeTest, ALifetimeToEndInSoLongIsNeverShorter) {
  for (const auto before : {std::optional<std::int64_t>(), std::optional<std::int64_t>(5)}) {
    for (const std::int64_t age : {0, 1, 999, 1000, 1001, 7'200'500}) {
      Moment now = so_long_after(age);
      now.now_ms += 24 * kHour;  // set
      const std::int64_t lifetime = lifetime_to_end_in(session_for(before), 30, now);
      const auto left = lifetime_left_ms(session_for(lifetime), now).value();
      EXPECT_GE(left, 30'000) << age;
      EXPECT_LT(left, 31'000) << age;
    }
  }
}

TEST(SessionTimeTest, ALifetimeToEndNowIsOverWithinASecond) {
  const Moment now = so_long_after(1500);
  const Session session = session_for(lifetime_to_end_in(session_for(3600), 0, now));
  EXPECT_FALSE(lifetime_is_over(session, now));
  EXPECT_TRUE(lifetime_is_over(session, so_long_after(2500)));
}

}  // namespace
}  // namespace sessions
