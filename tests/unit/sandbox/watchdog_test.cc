#include "sandbox/box/watchdog.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/temporary_directory.h"

namespace sandbox::box {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

class WatchdogTest : public testing::Test {
 protected:
  WatchdogTest() {
    limits_.disk_mb = 20;
    Watchdog::Watched watched;
    watched.measured.directories = {directory_.fd()};
    watched.busy = [] { return true; };
    watched.frozen = [] { return false; };
    watched.interpreters = [] { return std::size_t{0}; };
    watched.oom_kills = watched.pids_refused = [] { return std::int64_t{0}; };
    watched.kept_bytes = [this] {
      ++looks_;
      return std::int64_t{0};
    };
    watched.disk_limit_reached = watched.disk_room_low = [] {};
    watched.disk_uncountable = [](Uncountable) {};
    watched.process_limit_reached = watched.processes_uncountable = watched.memory_ran_out = [] {};
    watched.sockets_too_large = [](SocketMemory) {};
    watchdog_ = std::move(Watchdog::start(*loop_, limits_, std::move(watched)).value());
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
  int looks_ = 0;  // at the disk, that came to their end
  std::unique_ptr<EventLoop> loop_ = std::move(EventLoop::create().value());
  std::unique_ptr<Watchdog> watchdog_;
};

TEST_F(WatchdogTest, RoomIsPromisedUntilALookHasCountedTheFile) {
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

}  // namespace
}  // namespace sandbox::box
