#include "sandbox/box/watchdog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "sandbox/box/file_changes.h"
#include "sandbox/box/usage.h"
#include "tests/support/temporary_directory.h"

namespace sandbox::box {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

class WatchdogTest : public testing::Test {
 protected:
  WatchdogTest() {
    limits_.disk_mb = 20;
    watched_.measured.directories = {directory_.fd()};
    watched_.busy = [this] { return is_busy_; };
    watched_.frozen = [] { return false; };
    watched_.interpreters = [] { return std::size_t{0}; };
    watched_.oom_kills = watched_.pids_refused = [] { return std::int64_t{0}; };
    watched_.kept_bytes = [this] {
      ++looks_;
      return kept_bytes_;
    };
    watched_.disk_limit_reached = [this](DiskLimit limit) { told_.push_back(limit); };
    watched_.disk_room_low = [this] { is_told_of_the_floor_ = true; };
    watched_.disk_uncountable = [](Uncountable) {};
    watched_.process_limit_reached = watched_.processes_uncountable =
        watched_.memory_ran_out = [] {};
    watched_.sockets_too_large = [](SocketMemory) {};
  }

  void start() {
    watchdog_ = std::move(Watchdog::start(*loop_, limits_, std::move(watched_)).value());
  }
  // The host has less and less room, below what it keeps for itself or not.
  void lose_room(bool below_floor) {
    watched_.room = [this, below_floor] {
      ++ticks_;
      return DiskRoom{{kMebibyte * (1000 - ticks_)}, {-1}, below_floor};
    };
  }
  void turn_until(const std::function<bool()>& reached) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!reached()) {
      ASSERT_TRUE(loop_->turn().ok());
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    }
  }
  void wait_for_looks(int more) {
    const int wanted = looks_ + more;
    while (looks_ < wanted) ASSERT_TRUE(loop_->turn().ok());
  }
  bool has_room_for(std::int64_t mebibytes) {
    return watchdog_->take_disk_room(mebibytes * kMebibyte, RoomFor::kFile).ok();
  }

  const TemporaryDirectory directory_;
  Limits limits_;
  bool is_busy_ = true;
  std::int64_t kept_bytes_ = 0;
  int looks_ = 0;  // at the disk, that came to their end
  int ticks_ = 0;  // that asked for the host's room
  bool is_told_of_the_floor_ = false;
  std::vector<DiskLimit> told_;
  Watchdog::Watched watched_;
  std::unique_ptr<EventLoop> loop_ = std::move(EventLoop::create().value());
  std::unique_ptr<Watchdog> watchdog_;
};

TEST_F(WatchdogTest, RoomIsPromisedUntilALookHasCountedTheFile) {
  start();
  ASSERT_TRUE(has_room_for(9));
  wait_for_looks(2);
  EXPECT_FALSE(has_room_for(12)) << "the file is still being written";
  directory_.write("file", std::string(9 * kMebibyte, 'x'));
  watchdog_->disk_written(9 * kMebibyte);
  wait_for_looks(1);
  EXPECT_GE(watchdog_->disk_bytes(), 9 * kMebibyte);
  EXPECT_FALSE(has_room_for(12));
  EXPECT_TRUE(has_room_for(10)) << "it counts once";
}

TEST_F(WatchdogTest, TheRestAfterALookIsNeverLongerThanTwoSeconds) {
  using std::chrono::milliseconds;
  EXPECT_EQ(rest_after(milliseconds(10), 20), milliseconds(200));
  EXPECT_EQ(rest_after(std::chrono::minutes(1), 20), milliseconds(2000));
  EXPECT_EQ(rest_after(std::chrono::minutes(1), 1), milliseconds(2000));
}

TEST_F(WatchdogTest, TheFloorIsNotWaitedForByALookThatTakesLong) {
  lose_room(true);
  watched_.disk_usage = [](const DiskUsage& before, const std::stop_token& stop,
                           const std::stop_token&) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    (void)never.wait(lock, stop, [] { return false; });
    return before;
  };
  start();
  turn_until([this] { return is_told_of_the_floor_; });
  EXPECT_EQ(looks_, 0);
  EXPECT_GE(ticks_, 2);
}

TEST_F(WatchdogTest, BelowTheFloorALookTellsWhoWrites) {
  lose_room(true);
  watched_.disk_usage = [](const DiskUsage& before, const std::stop_token&,
                           const std::stop_token&) { return before; };
  start();
  wait_for_looks(4);
  EXPECT_FALSE(is_told_of_the_floor_) << "another one writes";
  EXPECT_GE(ticks_, 4);
}

// Says to each look what is there: a size in mebibytes and a number of files.
std::function<DiskUsage(const DiskUsage&, const std::stop_token&, const std::stop_token&)> seen(
    std::vector<std::pair<std::int64_t, std::int64_t>> usages) {
  return [usages = std::move(usages), look = std::size_t{0}](
             const DiskUsage&, const std::stop_token&, const std::stop_token&) mutable {
    const auto [mebibytes, files] = usages[std::min(look++, usages.size() - 1)];
    DiskUsage usage;
    usage.bytes = mebibytes * kMebibyte;
    usage.files = files;
    return usage;
  };
}

TEST_F(WatchdogTest, TheLimitThatWasReachedIsNamed) {
  limits_.files = 100;
  const Watchdog::Watched again = watched_;
  using Case = std::pair<std::pair<std::int64_t, std::int64_t>, DiskLimit>;
  for (const auto& [usage, limit] :
       {Case{{21, 5}, DiskLimit::kBytes}, Case{{5, 101}, DiskLimit::kFiles},
        Case{{21, 101}, DiskLimit::kBytesAndFiles}}) {
    told_.clear();
    watched_ = again;
    watched_.disk_usage = seen({{1, 1}, usage});
    start();
    turn_until([this] { return !told_.empty(); });
    EXPECT_EQ(told_, std::vector{limit});
  }
}

TEST_F(WatchdogTest, WhatCannotBeCountedTwiceInARowIsToldWithWhatThereIsTooMuchOf) {
  std::vector<Uncountable> seen{Uncountable::kNames, Uncountable::kNothing, Uncountable::kNames,
                                Uncountable::kDescriptors, Uncountable::kNothing};
  std::size_t look = 0;
  watched_.disk_usage = [&](const DiskUsage&, const std::stop_token&, const std::stop_token&) {
    DiskUsage usage;
    usage.uncountable = seen[std::min(look++, seen.size() - 1)];
    return usage;
  };
  std::vector<Uncountable> told;
  watched_.disk_uncountable = [&told](Uncountable what) { told.push_back(what); };
  start();
  wait_for_looks(3);
  EXPECT_TRUE(told.empty()) << "a machine that is busy for once";
  wait_for_looks(2);
  EXPECT_EQ(told, std::vector{Uncountable::kDescriptors});
  EXPECT_NE(std::string(reason_of(told.at(0))).find("twice processes times open_files"),
            std::string::npos);
}

TEST_F(WatchdogTest, WhatIsKeptBesideTheFilesCounts) {
  kept_bytes_ = 15 * kMebibyte;
  watched_.disk_usage = seen({{4, 1}, {4, 1}, {6, 1}});
  start();
  wait_for_looks(2);
  EXPECT_EQ(watchdog_->disk_bytes(), 19 * kMebibyte);
  EXPECT_TRUE(told_.empty());
  EXPECT_FALSE(has_room_for(2));
  wait_for_looks(1);
  EXPECT_EQ(told_, std::vector{DiskLimit::kBytes});
}

// Its file is written anew with each look.
TEST_F(WatchdogTest, MemoryIsShownOnlyWhileRunsAreOn) {
  int shown = 0;
  watched_.looks = [&shown] { ++shown; };
  lose_room(false);
  is_busy_ = false;
  start();
  for (int tick = 1; tick <= 2; ++tick) {
    watchdog_->wake();
    turn_until([this, tick] { return ticks_ >= tick; });
  }
  EXPECT_EQ(shown, 0);
  is_busy_ = true;
  watchdog_->wake();
  turn_until([&shown] { return shown >= 2; });
}

// A look that was on when they were ended has seen them still.
TEST_F(WatchdogTest, WhatWasRefusedBeforeTheProcessesWereEndedIsNoLaterRuns) {
  limits_.processes = 1;  // the process table is full all the time
  std::int64_t refused = 0;
  std::int64_t refused_more = 100;
  bool is_told = false;
  watched_.pids_refused = [&refused, &refused_more] { return refused += refused_more; };
  watched_.process_limit_reached = [&is_told] { is_told = true; };
  lose_room(false);
  start();
  turn_until([this] { return ticks_ >= 3; });
  refused_more = 0;
  watchdog_->processes_ended();
  const auto then = std::chrono::steady_clock::now();
  turn_until(
      [then] { return std::chrono::steady_clock::now() - then > std::chrono::milliseconds(800); });
  EXPECT_FALSE(is_told);
  refused_more = 100;
  turn_until([&is_told] { return is_told; });
}

TEST_F(WatchdogTest, WhatMakesRoomBeyondTheLimitGoesOn) {
  limits_.files = 100;
  // More than twice as many as may be, and fewer with each look.
  watched_.disk_usage = seen({{1, 1}, {1, 900}, {1, 800}, {1, 700}, {1, 600}, {1, 500}});
  start();
  wait_for_looks(6);
  EXPECT_EQ(told_, std::vector{DiskLimit::kFiles}) << "when there were 900";
}

TEST_F(WatchdogTest, WhatAnEarlierRunWroteAtItsEndIsNotTheNextRuns) {
  watched_.disk_usage = seen({{1, 1}, {30, 1}, {25, 1}, {21, 1}});
  start();
  wait_for_looks(1);
  watchdog_->wake();  // it writes, and ends
  watchdog_->run_begins();
  wait_for_looks(3);
  EXPECT_TRUE(told_.empty());
}

// It may see only a part of what the earlier run has written, and the next look the rest.
TEST_F(WatchdogTest, ALookThatBeganBeforeTheRunIsNotHeldAgainstIt) {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool is_on = false;
  bool may_end = false;
  watched_.disk_usage = [&, look = seen({{1, 1}, {25, 1}, {30, 1}, {30, 1}, {35, 1}}), number = 0](
                            const DiskUsage& before, const std::stop_token& stop,
                            const std::stop_token& hurry) mutable {
    if (++number == 2) {
      std::unique_lock lock(mutex);
      is_on = true;
      (void)changed.wait(lock, stop, [&may_end] { return may_end; });
    }
    return look(before, stop, hurry);
  };
  start();
  wait_for_looks(1);
  watchdog_->wake();
  turn_until([&] {
    const std::lock_guard lock(mutex);
    return is_on;
  });
  watchdog_->wake();  // the run that is on writes more, and ends
  watchdog_->run_begins();
  {
    const std::lock_guard lock(mutex);
    may_end = true;
    changed.notify_all();
  }
  wait_for_looks(3);
  EXPECT_TRUE(told_.empty());
  wait_for_looks(1);
  EXPECT_EQ(told_.size(), 1U) << "now it has written itself";
}

TEST_F(WatchdogTest, ARunThatGoesOnBeyondTheLimitIsEndedAllTheSame) {
  watched_.disk_usage = seen({{1, 1}, {30, 1}, {35, 1}});
  start();
  wait_for_looks(1);
  watchdog_->wake();
  watchdog_->run_begins();
  wait_for_looks(1);
  EXPECT_TRUE(told_.empty());
  wait_for_looks(1);
  EXPECT_EQ(told_.size(), 1U);
}

// All that is seen was written at that time, by the clock of files.
std::function<DiskUsage(const DiskUsage&, const std::stop_token&, const std::stop_token&)>
seen_as_of(const std::int64_t& written_ns,
           std::vector<std::pair<std::int64_t, std::int64_t>> usages) {
  return [&written_ns, look = seen(std::move(usages))](const DiskUsage& before, const auto& stop,
                                                       const auto& hurry) {
    DiskUsage usage = look(before, stop, hurry);
    if (before.since_ns == 0 || written_ns <= before.since_ns) return usage;
    usage.changed_bytes = usage.bytes;
    usage.changed_files = usage.files;
    return usage;
  };
}

std::int64_t next_file_time_ns() {
  const std::int64_t before = FileChanges::file_time_ns();
  while (FileChanges::file_time_ns() == before) {
  }
  return FileChanges::file_time_ns();
}

// The whole of it may be written before the first look, and nothing afterwards.
TEST_F(WatchdogTest, WhatARunHasWrittenSinceItBeganIsItsOwn) {
  std::int64_t written_ns = 0;
  watched_.disk_usage = seen_as_of(written_ns, {{1, 1}, {30, 1}});
  start();
  wait_for_looks(1);
  watchdog_->wake();
  watchdog_->run_begins();
  written_ns = next_file_time_ns();
  wait_for_looks(1);
  EXPECT_TRUE(told_.empty()) << "it may be about to end";
  wait_for_looks(1);
  EXPECT_EQ(told_, std::vector{DiskLimit::kBytes});
}

// One that was ended went beyond the limit, the next one makes room and goes beyond it again, all
// between two looks.
TEST_F(WatchdogTest, WhatARunHasWrittenAfterOneThatWasEndedIsItsOwn) {
  for (const bool one_is_between : {false, true}) {
    std::int64_t written_ns = 0;
    told_.clear();
    watched_.disk_usage = seen_as_of(written_ns, {{1, 1}, {30, 1}, {40, 1}});
    const auto watched = watched_;
    start();
    watched_ = watched;
    wait_for_looks(2);
    EXPECT_EQ(told_, std::vector{DiskLimit::kBytes});
    watchdog_->run_ends();
    if (one_is_between) {
      watchdog_->run_begins();
      watchdog_->wake();
      watchdog_->run_ends();
    }
    watchdog_->run_begins();
    watchdog_->wake();
    written_ns = next_file_time_ns();
    wait_for_looks(2);
    EXPECT_EQ(told_, std::vector(2, DiskLimit::kBytes)) << one_is_between;
    watchdog_.reset();
  }
}

TEST_F(WatchdogTest, WhatOneThatWasEndedWroteBeforeItsEndIsNotTheNextRuns) {
  std::int64_t written_ns = 0;
  watched_.disk_usage = seen_as_of(written_ns, {{1, 1}, {30, 1}, {40, 1}});
  start();
  wait_for_looks(2);
  EXPECT_EQ(told_, std::vector{DiskLimit::kBytes});
  written_ns = next_file_time_ns();
  watchdog_->run_ends();
  (void)next_file_time_ns();
  watchdog_->run_begins();
  watchdog_->wake();
  wait_for_looks(3);
  EXPECT_EQ(told_, std::vector{DiskLimit::kBytes});
}

TEST_F(WatchdogTest, WhatIsWrittenSinceTheBeginOfARunThatHasEndedIsNotTheNextRuns) {
  std::int64_t written_ns = 0;
  watched_.disk_usage = seen_as_of(written_ns, {{1, 1}, {30, 1}});
  start();
  wait_for_looks(1);
  watchdog_->wake();
  watchdog_->run_begins();
  written_ns = next_file_time_ns();
  watchdog_->run_ends();
  (void)next_file_time_ns();
  watchdog_->run_begins();
  wait_for_looks(3);
  EXPECT_TRUE(told_.empty());
}

TEST_F(WatchdogTest, FilesThatARunHasMadeSinceItBeganAreItsOwn) {
  limits_.files = 100;
  std::int64_t written_ns = 0;
  watched_.disk_usage = seen_as_of(written_ns, {{1, 1}, {1, 300}});
  start();
  wait_for_looks(1);
  watchdog_->wake();
  watchdog_->run_begins();
  written_ns = next_file_time_ns();
  watchdog_->run_begins();  // another one beside it, which hides nothing
  wait_for_looks(2);
  EXPECT_EQ(told_, std::vector{DiskLimit::kFiles});
}

TEST_F(WatchdogTest, AQuotaDoesNotHideTheFloor) {
  lose_room(true);
  watched_.disk = false;
  watched_.quota_bytes = [written = std::int64_t{0}]() mutable { return written += kMebibyte; };
  start();
  turn_until([this] { return is_told_of_the_floor_; });
  EXPECT_EQ(ticks_, 3) << "it has written twice since the first";
}

TEST_F(WatchdogTest, WithAQuotaOnlyWhoWritesBelowTheFloorIsEnded) {
  for (const bool below_floor : {true, false}) {
    lose_room(below_floor);
    watched_.disk = false;
    watched_.quota_bytes = [this, below_floor] { return below_floor ? 7 : ticks_ * kMebibyte; };
    const int enough = ticks_ + 5;
    Watchdog::Watched again = watched_;
    start();
    watched_ = std::move(again);
    turn_until([this, enough] { return ticks_ >= enough; });
    EXPECT_FALSE(is_told_of_the_floor_) << below_floor;
  }
}

}  // namespace
}  // namespace sandbox::box
