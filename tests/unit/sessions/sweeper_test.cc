// A sweep puts right what dead servers and boxes left, and nothing that somebody has in hand.
#include "sessions/sweeper.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/random_id.h"
#include "sandbox/dropped_outputs.h"
#include "sessions/moment.h"
#include "sessions/patience.h"
#include "sessions/run_table.h"
#include "sessions/session_lists.h"
#include "sessions/session_table.h"
#include "sessions/sqlite.h"
#include "sessions/store.h"
#include "sessions/upkeep_table.h"
#include "tests/unit/sessions/services_fixture.h"

namespace sessions {
namespace {

namespace fs = std::filesystem;

class SweeperTest : public testing::ServicesFixture {
 protected:
  void sweep(const std::stop_token& stop = {}) { parts().sweeper.sweep(stop); }
  // Makes one that its row says to be ready, as a server leaves it that is killed.
  Session left_behind() {
    return kept([](Session& wanted) { wanted.status = SessionStatus::kReady; });
  }
  static void unused_for_long(Session& wanted) {
    wanted.last_used_at -= (wanted.retention_seconds + 60) * 1000;
  }
  std::string status_of_run(const sessions::Run& run) {
    return store_->runs.find(principal_, run.id).value().status;
  }
};

TEST_F(SweeperTest, ARunWhoseBoxHasDiedGetsItsEnd) {
  const Session session = left_behind();
  const sessions::Run run = inserted(session);
  sweep();
  EXPECT_EQ(status_of_run(run), "failed");
  EXPECT_EQ(status_of(session), SessionStatus::kStopped);
  EXPECT_EQ(calls("sweep", session.id), 1) << "what it left on the host";
  ASSERT_EQ(notices().size(), 1U);
  EXPECT_EQ(notices()[0].run_id, run.id);
}

TEST_F(SweeperTest, WhatSomebodyHasInHandIsLeftAlone) {
  const Session session = left_behind();
  const sessions::Run run = inserted(session);
  {
    const auto lock = held(session);
    sweep();
  }
  EXPECT_EQ(status_of_run(run), "queued");
  EXPECT_EQ(status_of(session), SessionStatus::kReady);
  EXPECT_EQ(calls("sweep"), 0);
}

TEST_F(SweeperTest, ASessionThatIsBeingMadeIsNotStoppedForAMinute) {
  const auto made_before = [this](std::int64_t ms) {
    return kept([ms](Session& wanted) {
      wanted.status = SessionStatus::kProvisioning;
      wanted.last_used_at -= ms;
    });
  };
  const Session young = made_before(0);
  const Session old = made_before(61'000);
  sweep();
  EXPECT_EQ(status_of(young), SessionStatus::kProvisioning);
  EXPECT_EQ(status_of(old), SessionStatus::kStopped);
}

TEST_F(SweeperTest, WorkKeepsASessionFromEndingUnusedButNotBeyondItsLifetime) {
  const Session idle = kept(unused_for_long);
  const Session busy = running(unused_for_long);
  const Session over = running([](Session& wanted) {
    wanted.lifetime_seconds = 60;
    wanted.created_at -= 61'000;
    // Until it has a box.
    wanted.pauses_at_end = true;
  });
  const auto database = Database::open(path()).value();
  ASSERT_TRUE(database->execute("UPDATE sessions SET pauses_at_end = 0").ok());
  // The start has used it.
  const std::string sql = "UPDATE sessions SET last_used_at = 0 WHERE id = '" + busy.id + "'";
  ASSERT_TRUE(database->execute(sql.c_str()).ok());
  for (const Session& session : {busy, over}) say_busy(session);
  sandbox_.set_alive(over.id, false);
  sweep();
  EXPECT_EQ(status_of(idle), SessionStatus::kDestroyed);
  EXPECT_EQ(status_of(busy), SessionStatus::kReady);
  EXPECT_EQ(status_of(over), SessionStatus::kDestroyed);
}

TEST_F(SweeperTest, ADeletionThatWasCutShortIsFinished) {
  const Session session = kept();
  const sessions::Run run = inserted(session);
  ASSERT_TRUE(store_->sessions.set_status(session.id, SessionStatus::kDestroyed, "").value());
  sweep();
  EXPECT_FALSE(fs::exists(directory_of(session)));
  EXPECT_EQ(status_of_run(run), "cancelled");
  EXPECT_TRUE(store_->session_lists.unburied().value().empty());
}

TEST_F(SweeperTest, ADirectoryThatIsMadeAgainAfterItsSessionGoesToo) {
  const Session session = kept();
  ASSERT_TRUE(parts().ends.end(session, "why").ok());
  fs::create_directories(directory_of(session) + "/workspace");
  const std::string nobodys = directory_ + "/sessions/not_of_a_session";
  fs::create_directory(nobodys);
  {
    const auto lock = held(session);
    sweep();
    EXPECT_TRUE(fs::exists(directory_of(session))) << "somebody is at work there";
  }
  EXPECT_TRUE(notices().empty());
  const Session other = kept();
  ASSERT_TRUE(parts().ends.end(other, "why").ok());
  fs::create_directories(directory_of(other));
  sweep();
  EXPECT_FALSE(fs::exists(directory_of(session)));
  EXPECT_FALSE(fs::exists(directory_of(other)));
  EXPECT_TRUE(fs::exists(nobodys));
  ASSERT_EQ(notices().size(), 1U) << "one line, however many";
  EXPECT_EQ(notices()[0].level, Notice::Level::kInfo);
  EXPECT_TRUE(notices()[0].message.starts_with("2 directories deleted")) << notices()[0].message;
  sweep();
  EXPECT_EQ(notices().size(), 1U);
}

TEST_F(SweeperTest, OneLineTellsWhichOutputsABoxHasDropped) {
  const Session session = kept();
  const auto directory =
      base::open_file(AT_FDCWD, directory_of(session), O_RDONLY | O_DIRECTORY).value();
  sweep();
  EXPECT_TRUE(notices().empty());
  EXPECT_TRUE(sandbox::add_dropped_outputs(directory.get(), {2, 1000}));
  EXPECT_TRUE(sandbox::add_dropped_outputs(directory.get(), {1, 234}));
  sweep();
  ASSERT_EQ(notices().size(), 1U);
  EXPECT_EQ(notices()[0].level, Notice::Level::kInfo);
  EXPECT_EQ(notices()[0].session_id, session.id);
  EXPECT_NE(notices()[0].message.find("1234 bytes of 3 runs"), std::string::npos)
      << notices()[0].message;
  sweep();
  EXPECT_EQ(notices().size(), 1U) << "what was told is over";
}

TEST_F(SweeperTest, AnEmptyDirectoryOfNoSessionGoesUnlessSomebodyHasIt) {
  Session stranger;
  stranger.id = base::short_id("session_");
  fs::create_directory(directory_of(stranger));
  {
    const auto lock = held(stranger);
    sweep();
    EXPECT_TRUE(fs::exists(directory_of(stranger)));
  }
  sweep();
  EXPECT_FALSE(fs::exists(directory_of(stranger)));
}

TEST_F(SweeperTest, AClockThatLeapsDeletesNoRecordsWhereNoSessionIsLeft) {
  std::int64_t ahead_ms = 0;
  config_.clock = [&ahead_ms] {
    Moment now = moment_now();
    now.now_ms += ahead_ms;
    return now;
  };
  const Session session = kept();
  ASSERT_TRUE(parts().ends.end(session, "why").ok());
  sweep();
  ahead_ms = 400LL * 86'400'000;
  sweep();
  EXPECT_TRUE(store_->sessions.is_on_record(session.id).value());
  EXPECT_TRUE(store_->upkeep.find().value().held_at);
  EXPECT_FALSE(store_->upkeep.may_delete_by_time(base::now_ms() + ahead_ms))
      << "nor does anybody else delete by that clock";
  ASSERT_TRUE(store_->upkeep.release_deletion().value());
  sweep();
  EXPECT_FALSE(store_->sessions.is_on_record(session.id).value());
}

TEST_F(SweeperTest, NothingIsTouchedOnceItIsStopped) {
  const Session dead = left_behind();
  const Session over = kept(unused_for_long);
  std::stop_source stopped;
  stopped.request_stop();
  sweep(stopped.get_token());
  EXPECT_EQ(status_of(dead), SessionStatus::kReady);
  EXPECT_EQ(status_of(over), SessionStatus::kStopped);
  EXPECT_TRUE(fs::exists(directory_of(over)));
}

TEST_F(SweeperTest, AfterABoxThatEndsItIsClearedUpBeforeTheNextSweep) {
  std::atomic<int> sweeps = 0;
  config_.sweep_interval = std::chrono::hours(100);
  config_.sweep_others = [&sweeps] { ++sweeps; };
  const Session session = running();
  parts().sweeper.start();
  ASSERT_TRUE(wait_until(std::chrono::seconds(30), [&] { return sweeps == 1; }));
  const auto database = Database::open(path()).value();
  ASSERT_TRUE(database->execute("UPDATE sessions SET status = 'ready'").ok());
  const sessions::Run run = inserted(session);
  sandbox_.set_alive(session.id, false);
  sandbox_.let_go(session.id);
  parts().ended.add("session_of_nobody");
  parts().ended.add(session.id);
  EXPECT_TRUE(wait_until(std::chrono::seconds(30),
                         [&] { return status_of(session) == SessionStatus::kStopped; }));
  EXPECT_EQ(status_of_run(run), "failed");
  parts().sweeper.stop();
  EXPECT_EQ(sweeps, 1);
}

}  // namespace
}  // namespace sessions
