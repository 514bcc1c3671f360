// Who watches much keeps nobody else waiting who watches little.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "mcp/changes.h"
#include "sessions/manager.h"
#include "sessions/principal_table.h"
#include "sessions/sessions.h"
#include "sessions/store.h"
#include "tests/unit/tools/tools_fixture.h"
#include "tools/mcp/change_watch.h"

namespace {

constexpr std::chrono::seconds kPatience{60};

// Each session is looked at in a round once; the first look waits until it may go on.
class ChangeWatchTest : public tools::fake::ToolsFixture {
 protected:
  ChangeWatchTest() {
    sandbox_.on_look([this](const std::string& session_id) {
      std::unique_lock lock(mutex_);
      if (std::this_thread::get_id() == here_) return;  // as it is made
      looks_.push_back(session_id);
      changed_.notify_all();
      changed_.wait_for(lock, kPatience, [this] { return may_go_on_; });
    });
  }

  std::string session_of(const std::string& principal_id) {
    return manager_->services().sessions.create(principal_id, {}).value().session.id;
  }
  static mcp::Change file_of(const std::string& session_id) {
    return {mcp::Change::Kind::kResource, "sandbox://" + session_id + "/workspace/a"};
  }
  // How many others were looked at before this one, after the first look.
  std::size_t looks_before(const std::string& session_id) {
    std::unique_lock lock(mutex_);
    may_go_on_ = true;
    changed_.notify_all();
    std::size_t at = 1;
    const bool seen = changed_.wait_for(lock, kPatience, [&] {
      while (at < looks_.size() && looks_[at] != session_id) ++at;
      return at < looks_.size();
    });
    EXPECT_TRUE(seen);
    return at - 1;
  }
  void wait_for_first_look() {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, kPatience, [this] { return !looks_.empty(); }));
  }

  // The one of two who would come first by the id is who watches much.
  const std::string one_ = store_->principals.ensure("one").value();
  const std::string other_ = store_->principals.ensure("other").value();
  const std::string much_ = std::min(one_, other_);
  const std::string little_ = std::max(one_, other_);
  const std::thread::id here_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> looks_;
  bool may_go_on_ = false;
  mcp::Changes changes_;
};

TEST_F(ChangeWatchTest, PrincipalsTakeTurns) {
  std::vector<std::string> many;
  for (int i = 0; i < 8; ++i) many.push_back(session_of(much_));
  const std::string one = session_of(little_);
  tools::ChangeWatch watch({manager_->services(), *share_, ""}, changes_);
  watch.add(file_of(many[0]), much_);
  wait_for_first_look();
  for (const std::string& session : many) watch.add(file_of(session), much_);
  watch.add(file_of(one), little_);
  EXPECT_LE(looks_before(one), 1U);
}

// Each feed is an instance of inotify(7), of which the system gives a user few.
std::size_t feeds_of_this_process() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code none;  // it may be closed meanwhile
    count += std::filesystem::read_symlink(entry.path(), none) == "anon_inode:inotify" ? 1 : 0;
  }
  return count;
}

TEST_F(ChangeWatchTest, WhoWatchesMuchLeavesFeedsForOthers) {
  may_go_on_ = true;
  tools::ChangeWatch watch({manager_->services(), *share_, ""}, changes_);
  const std::size_t before = feeds_of_this_process();
  for (int i = 0; i < 40; ++i) watch.add(file_of(session_of(much_)), much_);
  watch.settle(much_);
  EXPECT_EQ(feeds_of_this_process() - before, 16U);
  watch.add(file_of(session_of(little_)), little_);
  watch.settle(little_);
  EXPECT_EQ(feeds_of_this_process() - before, 17U);
}

TEST_F(ChangeWatchTest, NobodyWaitsForWhatOthersWatch) {
  tools::ChangeWatch watch({manager_->services(), *share_, ""}, changes_);
  watch.add(file_of(session_of(much_)), much_);
  wait_for_first_look();
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) watch.settle(little_);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(15))
      << "each waited as long as it may for the box of another one, which does not answer";
  {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(looks_.size(), 1U);
    may_go_on_ = true;
    changed_.notify_all();
  }
  watch.settle(much_);
}

}  // namespace
