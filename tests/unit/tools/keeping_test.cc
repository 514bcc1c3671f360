// Tests what a server deletes by itself, and what not, whatever its clock says.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/random_id.h"
#include "sessions/manager.h"
#include "sessions/manager_config.h"
#include "sessions/moment.h"
#include "sessions/principal_table.h"
#include "sessions/session.h"
#include "sessions/session_table.h"
#include "sessions/session_time.h"
#include "sessions/store.h"
#include "sessions/upkeep_table.h"
#include "tests/unit/tools/tools_fixture.h"

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kDayMs = 24 * kHourMs;

class KeepingTest : public tools::fake::ToolsFixture {
 protected:
  KeepingTest() : config_(manager_->services().config) { manager_.reset(); }

  // Sweeps once at its start, and then when it is told to.
  void start_server() {
    manager_.reset();
    sessions::ManagerConfig config = config_;
    config.sweep_interval = std::chrono::hours(100);
    std::atomic<bool> has_swept = false;
    config.sweep_others = [&has_swept] { has_swept = true; };
    config.clock = [this] {
      sessions::Moment now = sessions::moment_now();
      now.now_ms += ahead_ms_;
      now.uptime_ms += later_ms_;
      now.boottime_ms += later_ms_;
      now.boot_id = boot_id_.empty() ? now.boot_id : boot_id_;
      return now;
    };
    config.notify = [this](const sessions::Notice& notice) { hear(notice); };
    store_->watch({}, config.notify);
    manager_ = sessions::Manager::open(config, *store_, sandbox_).value();
    while (!has_swept) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void sweep_for(std::int64_t ms) {
    for (; ms > 0; ms -= kHourMs) {
      ahead_ms_ += kHourMs;
      later_ms_ += kHourMs;
      manager_->sweep({});
    }
  }
  void hear(const sessions::Notice& notice) {
    const std::lock_guard lock(mutex_);
    (notice.level == sessions::Notice::Level::kWarning ? holds_ : deletions_)
        .push_back(notice.message);
  }

  sessions::Session made(std::int64_t unused_ms = 0) {
    const std::string principal = store_->principals.ensure("p").value();
    sessions::Session session;
    session.id = base::short_id("session_");
    session.principal_id = principal;
    session.status = sessions::SessionStatus::kStopped;
    const sessions::Moment now = sessions::moment_now();
    session.created_at = session.last_used_at = now.now_ms - unused_ms;
    session.boot_id = now.boot_id;
    session.boot_offset_ms = now.now_ms - now.boottime_ms;
    session = store_->sessions.create(session, std::nullopt, 1000).value();
    fs::create_directories(directory_of(session) + "/workspace");
    return session;
  }
  [[nodiscard]] std::string directory_of(const sessions::Session& session) const {
    return directory_ + "/sessions/" + session.id;
  }
  bool is_kept(const sessions::Session& session) {
    return store_->sessions.is_live(session.id).value() && fs::exists(directory_of(session));
  }

  const sessions::ManagerConfig config_;
  std::atomic<std::int64_t> ahead_ms_ = 0;
  std::atomic<std::int64_t> later_ms_ = 0;
  std::string boot_id_;
  std::mutex mutex_;
  std::vector<std::string> deletions_;
  std::vector<std::string> holds_;
};

TEST_F(KeepingTest, WhatIsOverItsTimeGoesAndIsTold) {
  const auto over = made(8 * kDayMs);
  const auto kept = made(6 * kDayMs);
  start_server();
  EXPECT_FALSE(is_kept(over));
  EXPECT_TRUE(is_kept(kept));
  ASSERT_EQ(deletions_.size(), 1U);
  EXPECT_EQ(deletions_[0], "session deleted: it was not used for its retention_seconds, 604800");
  EXPECT_TRUE(holds_.empty());
}

TEST_F(KeepingTest, AClockThatLeapsDeletesNothingUntilServersWereThereForADay) {
  const auto session = made();
  start_server();
  ahead_ms_ = 8 * kDayMs;
  start_server();
  EXPECT_TRUE(is_kept(session));
  ASSERT_EQ(holds_.size(), 1U);
  EXPECT_NE(holds_[0].find("ahead"), std::string::npos) << holds_[0];
  sweep_for(23 * kHourMs);
  EXPECT_TRUE(is_kept(session));
  EXPECT_EQ(holds_.size(), 1U) << "told once";
  sweep_for(2 * kHourMs);
  EXPECT_FALSE(is_kept(session));
  EXPECT_EQ(deletions_.size(), 1U);
}

TEST_F(KeepingTest, AClockThatIsPutRightWithinADayLosesNothing) {
  std::vector<sessions::Session> all;
  for (int i = 0; i < 30; ++i) all.push_back(made(i * 4 * kHourMs));
  start_server();
  ahead_ms_ = 30 * kDayMs;
  start_server();
  sweep_for(20 * kHourMs);
  ahead_ms_ -= 30 * kDayMs;
  sweep_for(10 * kHourMs);
  for (const auto& session : all) EXPECT_TRUE(is_kept(session));
  EXPECT_TRUE(deletions_.empty());
}

TEST_F(KeepingTest, WhatIsSharedStaysToo) {
  const auto session = made();
  const base::UniqueFd source = base::make_memory_file("source", "x").value();
  const auto shared =
      share_->publish(source.get(), {session.id, session.principal_id, "/workspace/f", "", 1})
          .value();
  ahead_ms_ = -8 * kDayMs;  // as it was before the clock leapt
  start_server();
  std::this_thread::sleep_until(std::chrono::system_clock::time_point(
      std::chrono::milliseconds(shared.expires_at.value() + 1)));
  EXPECT_TRUE(share_->sweep().expired.empty());
  EXPECT_TRUE(fs::exists(share_->stored_path(shared)));
  ahead_ms_ = 0;
  start_server();
  EXPECT_TRUE(share_->sweep().expired.empty()) << "held back";
  ASSERT_TRUE(store_->upkeep.release_deletion().value());
  EXPECT_EQ(share_->sweep().expired.size(), 1U);
  EXPECT_FALSE(fs::exists(share_->stored_path(shared)));
}

TEST_F(KeepingTest, AStateDirectoryWithoutItsDatabaseKeepsItsSessions) {
  std::vector<std::string> strangers;
  const auto age = [](const std::string& directory) {
    for (const char* part : {"/workspace", "/home", "/runs", ""}) {
      fs::last_write_time(directory + part,
                          fs::file_time_type::clock::now() - std::chrono::hours(8 * 24));
    }
  };
  for (int i = 0; i < 25; ++i) {
    strangers.push_back(directory_ + "/sessions/" + base::short_id("session_"));
    for (const char* part : {"/workspace", "/home", "/runs"}) {
      fs::create_directories(strangers.back() + part);
    }
    std::ofstream(strangers.back() + "/workspace/file") << "x";
  }
  const std::string bare = directory_ + "/sessions/" + base::short_id("session_");
  fs::create_directory(bare);
  start_server();
  EXPECT_FALSE(fs::exists(bare));
  for (const auto& directory : strangers) EXPECT_TRUE(fs::exists(directory)) << "it is young";
  EXPECT_TRUE(holds_.empty());

  age(strangers[0]);
  start_server();
  EXPECT_FALSE(fs::exists(strangers[0]));
  for (std::size_t i = 1; i < strangers.size(); ++i) age(strangers[i]);
  start_server();
  for (std::size_t i = 1; i < strangers.size(); ++i) EXPECT_TRUE(fs::exists(strangers[i]));
  EXPECT_EQ(holds_.size(), 1U) << "so many at once";
}

TEST_F(KeepingTest, ALifetimeGoesByTheStartOfTheMachine) {
  auto session = made();
  ASSERT_TRUE(store_->sessions.set_lifetime(session.id, 3600).ok());
  session.lifetime_seconds = 3600;
  sessions::Moment now = sessions::moment_now();
  now.now_ms += 30 * kDayMs;  // set
  EXPECT_FALSE(sessions::lifetime_is_over(session, now));
  now.now_ms -= 60 * kDayMs;
  EXPECT_FALSE(sessions::lifetime_is_over(session, now));
  now.boottime_ms += kHourMs + 1000;
  EXPECT_TRUE(sessions::lifetime_is_over(session, now));
  now.boot_id = "another start";
  EXPECT_FALSE(sessions::lifetime_is_over(session, now)) << "only the wall clock is left";
  now.now_ms = session.created_at + kHourMs;
  EXPECT_TRUE(sessions::lifetime_is_over(session, now));

  ahead_ms_ = 6 * kDayMs;
  start_server();
  EXPECT_TRUE(is_kept(session));
  later_ms_ = 2 * kHourMs;
  manager_->sweep({});
  EXPECT_FALSE(is_kept(session)) << "sure, whatever the wall clock says";
}

}  // namespace
