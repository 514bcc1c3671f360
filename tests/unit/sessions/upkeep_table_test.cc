// Upkeep: what a sweep leaves to the next one, whichever server that is of.
#include "sessions/upkeep_table.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

class UpkeepTableTest : public testing::StoreFixture {
 protected:
  static constexpr std::int64_t kWeek = 7LL * 86'400;
  static constexpr std::int64_t kDayMs = 86'400'000;

  // Connections that are opened while it lives may not make the file larger than it is.
  class Full {
   public:
    Full() { ::sqlite3_auto_extension(as_extension()); }
    ~Full() { ::sqlite3_cancel_auto_extension(as_extension()); }
    Full(const Full&) = delete;
    Full& operator=(const Full&) = delete;

   private:
    static int bound(sqlite3* connection, const char** /*error*/, const void* /*api*/) {
      return ::sqlite3_exec(connection, "PRAGMA max_page_count = 1", nullptr, nullptr, nullptr);
    }
    using Extension = void (*)();
    static Extension as_extension() { return reinterpret_cast<Extension>(bound); }
  };

  HoldDecision swept(const Due& due) {
    return store_->upkeep.begin_sweep(now_, now_.uptime_ms, due, kWeek).value();
  }

  Moment now_{1'700'000'000'000, "boot", 1000, 1000};
};

TEST_F(UpkeepTableTest, AnotherServerGoesOnWithAHold) {
  Moment now = moment_now();
  const std::int64_t since = now.uptime_ms;
  EXPECT_TRUE(store_->upkeep.begin_sweep(now, since, {0, 5}, kWeek).value().may_delete);
  now.now_ms += 8 * kDayMs;
  EXPECT_TRUE(store_->upkeep.begin_sweep(now, since, {5, 5}, kWeek).value().has_begun);
  store_ = Store::open(path()).value();
  now.uptime_ms += 60'000;
  const auto held = store_->upkeep.begin_sweep(now, since, {5, 5}, kWeek).value();
  EXPECT_FALSE(held.may_delete || held.has_begun);
  EXPECT_EQ(store_->upkeep.find().value().held_ms, 60'000);
  EXPECT_FALSE(store_->upkeep.may_delete_by_time(now.now_ms));

  EXPECT_TRUE(store_->upkeep.release_deletion().value());
  EXPECT_FALSE(store_->upkeep.release_deletion().value());
  EXPECT_TRUE(store_->upkeep.may_delete_by_time(now.now_ms));
  for (int cut_short = 0; cut_short < 2; ++cut_short) {
    EXPECT_TRUE(store_->upkeep.begin_sweep(now, since, {50, 50}, kWeek).value().may_delete);
  }
  ASSERT_TRUE(store_->upkeep.end_sweep().ok());
  EXPECT_FALSE(store_->upkeep.begin_sweep(now, since, {50, 50}, kWeek).value().may_delete);
}

TEST_F(UpkeepTableTest, WithoutASweepNothingIsHeldBackOrReleased) {
  const Upkeep none = store_->upkeep.find().value();
  EXPECT_FALSE(none.swept_at || none.held_at || none.released);
  EXPECT_TRUE(store_->upkeep.may_delete_by_time(now_.now_ms));
  EXPECT_FALSE(store_->upkeep.release_deletion().value());
  ASSERT_TRUE(store_->upkeep.end_sweep().ok());
  EXPECT_FALSE(store_->upkeep.find().value().released);
}

TEST_F(UpkeepTableTest, ADecisionIsWrittenDownWhole) {
  ASSERT_TRUE(swept({0, 50}).may_delete);
  now_.now_ms += 8 * kDayMs;
  const HoldDecision held = swept({5, 50});
  ASSERT_TRUE(held.has_begun);
  const Upkeep found = store_->upkeep.find().value();
  EXPECT_EQ(found.swept_at, now_.now_ms);
  EXPECT_EQ(found.leap_ms, kWeek * 1000 / 2);
  EXPECT_EQ(found.held_at, now_.now_ms);
  EXPECT_EQ(found.held_ms, 0);
  EXPECT_EQ(found.held_why, held.next.held_why);
  EXPECT_FALSE(found.held_why.empty());
  EXPECT_EQ(found.trusted_at, now_.now_ms - 8 * kDayMs);
  EXPECT_FALSE(found.released);
  EXPECT_EQ(found.boot_id, "boot");
  EXPECT_EQ(found.counted_ms, 1000);
  EXPECT_EQ(number_of("SELECT count(*) FROM upkeep"), 1);
}

TEST_F(UpkeepTableTest, AReleaseHoldsUntilASweepWasWhole) {
  ASSERT_TRUE(swept({0, 50}).may_delete);
  ASSERT_FALSE(swept({20, 50}).may_delete);
  EXPECT_FALSE(store_->upkeep.may_delete_by_time(now_.now_ms));
  ASSERT_TRUE(store_->upkeep.release_deletion().value());
  EXPECT_FALSE(store_->upkeep.find().value().held_at);
  EXPECT_TRUE(swept({20, 50}).may_delete);
  EXPECT_TRUE(store_->upkeep.find().value().released) << "that one was cut short";
  ASSERT_TRUE(store_->upkeep.end_sweep().ok());
  EXPECT_FALSE(store_->upkeep.find().value().released);
  EXPECT_FALSE(swept({20, 50}).may_delete);
}

TEST_F(UpkeepTableTest, BetweenSweepsAClockThatLeapsDeletesNothing) {
  ASSERT_TRUE(swept({0, 50}).may_delete);
  EXPECT_TRUE(store_->upkeep.may_delete_by_time(now_.now_ms + kWeek * 1000 / 2));
  EXPECT_FALSE(store_->upkeep.may_delete_by_time(now_.now_ms + kWeek * 1000 / 2 + 1));
}

TEST_F(UpkeepTableTest, InDoubtNothingIsDeleted) {
  execute("DROP TABLE upkeep");
  EXPECT_FALSE(store_->upkeep.may_delete_by_time(now_.now_ms));
  EXPECT_FALSE(store_->upkeep.begin_sweep(now_, 0, {0, 50}, kWeek).ok());
}

TEST_F(UpkeepTableTest, WhatCannotBeWrittenDownHoldsAllTheSame) {
  ASSERT_TRUE(swept({0, 50}).may_delete);
  store_.reset();
  const Full full;
  store_ = Store::open(path()).value();
  Moment large = now_;
  large.boot_id = std::string(1'000'000, 'b');  // no free page takes it
  const auto refused = store_->upkeep.begin_sweep(large, 0, {1, 50}, kWeek);
  ASSERT_TRUE(refused.ok()) << refused.error().message;
  EXPECT_TRUE(refused.value().may_delete) << "what is deleted makes room";
  EXPECT_FALSE(store_->upkeep.begin_sweep(large, 0, {20, 50}, kWeek).value().may_delete);
  EXPECT_EQ(store_->upkeep.find().value().boot_id, "boot");
}

}  // namespace
}  // namespace sessions
