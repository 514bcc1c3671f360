// Who counts as a session, who gives way to another, and who never does.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/random_id.h"
#include "sessions/boxes.h"
#include "sessions/manager.h"
#include "sessions/manager_config.h"
#include "sessions/network_table.h"
#include "sessions/principal_table.h"
#include "sessions/run_state.h"
#include "sessions/run_table.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "sessions/session_options.h"
#include "sessions/session_state.h"
#include "sessions/session_table.h"
#include "sessions/sessions.h"
#include "sessions/store.h"
#include "tests/unit/sessions/run_ends.h"
#include "tests/unit/tools/tools_fixture.h"

namespace {

namespace fs = std::filesystem;
using Kind = base::Error::Kind;

class RoomTest : public tools::fake::ToolsFixture {
 protected:
  RoomTest() : principal_(store_->principals.ensure("p").value()) {
    sessions::ManagerConfig config = manager_->services().config;
    manager_.reset();
    config.sessions_max = 2;
    config.kept_sessions_max = 4;
    // Its first sweep has been, before there is anything that it could find.
    const auto has_swept = std::make_shared<std::atomic<bool>>(false);
    config.sweep_interval = std::chrono::hours(100);
    config.sweep_others = [has_swept] { *has_swept = true; };
    manager_ = sessions::Manager::open(config, *store_, sandbox_).value();
    while (!*has_swept) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  base::Result<sessions::SessionState> create(const std::string& name = "",
                                              const std::string& connection = "") {
    sessions::SessionOptions options;
    options.name = name;
    options.connection_id = connection;
    auto created = manager_->services().sessions.create(principal_, options);
    // The next one is younger by the clock that they are ordered by.
    for (const std::int64_t now = base::now_ms(); base::now_ms() == now;) {
    }
    return created;
  }
  sessions::Session alive(const std::string& name = "") {
    const auto session = create(name).value().session;
    sandbox_.set_alive(session.id, true);
    return session;
  }
  // Without a box; an empty one unless something is put into it.
  sessions::Session stopped(const std::string& name = "") {
    const auto session = create(name).value().session;
    EXPECT_TRUE(
        store_->sessions.set_status(session.id, sessions::SessionStatus::kStopped, "").ok());
    return session;
  }
  // As one that was of a connection which has ended.
  sessions::Session left() {
    const auto session = create("", "connection").value().session;
    manager_->services().sessions.connection_ended("connection");
    return session;
  }
  [[nodiscard]] std::string directory_of(const sessions::Session& session) const {
    return directory_ + "/sessions/" + session.id;
  }
  bool is_kept(const sessions::Session& session) {
    return store_->sessions.is_live(session.id).value();
  }

  const std::string principal_;
  std::optional<sandbox::SessionLock> held_;
};

TEST_F(RoomTest, OnlySessionsWithABoxAreCounted) {
  const auto first = alive("first");
  const auto second = alive();
  const auto refused = create();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, Kind::kLimit);
  EXPECT_TRUE(refused.error().message.starts_with("there are 2 sessions already, the most allowed"))
      << refused.error().message;
  EXPECT_TRUE(refused.error().message.ends_with(": first, " + second.id))
      << refused.error().message;
  // Its box ends, and no server has noticed.
  sandbox_.set_alive(first.id, false);
  EXPECT_TRUE(create().ok());
  EXPECT_TRUE(is_kept(first));
  EXPECT_EQ(store_->sessions.find(principal_, first.id).value().status,
            sessions::SessionStatus::kStopped);
}

TEST_F(RoomTest, ASessionThatWakesIsCounted) {
  const auto sleeper = stopped();
  sandbox_.let_go(sleeper.id);
  const auto first = alive();
  const auto second = alive();
  const auto refused =
      manager_->services().boxes.box_of(store_->sessions.find(principal_, sleeper.id).value());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, Kind::kLimit);
  EXPECT_NE(refused.error().message.find(first.id + ", " + second.id), std::string::npos);
  EXPECT_EQ(store_->sessions.find(principal_, sleeper.id).value().status,
            sessions::SessionStatus::kStopped);
  sandbox_.set_alive(second.id, false);
  EXPECT_TRUE(manager_->services()
                  .boxes.box_of(store_->sessions.find(principal_, sleeper.id).value())
                  .ok());
  EXPECT_EQ(store_->sessions.find(principal_, sleeper.id).value().status,
            sessions::SessionStatus::kReady);
}

TEST_F(RoomTest, OfThoseWithoutABoxTheOldestThatHaveNothingGo) {
  const auto named = stopped("named");
  const auto full = stopped();
  std::ofstream(directory_of(full) + "/workspace/file") << "x";
  const auto older = stopped();
  const auto newer = stopped();
  const auto made = create();
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_TRUE(is_kept(named) && is_kept(full));
  EXPECT_FALSE(is_kept(older) && is_kept(newer));
  EXPECT_FALSE(fs::exists(directory_of(older)));
}

TEST_F(RoomTest, ElseWhoAsksIsRefusedWithNames) {
  const auto first = stopped("first");
  for (int i = 0; i < 3; ++i) {
    std::ofstream(directory_of(stopped()) + "/workspace/file") << "x";
  }
  const auto refused = create();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, Kind::kLimit);
  EXPECT_NE(refused.error().message.find("kept_sessions_max"), std::string::npos);
  EXPECT_NE(refused.error().message.find("unused for longest: first, session_"), std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(is_kept(first));
}

TEST_F(RoomTest, WithItsConnectionEndsASessionThatHasNothing) {
  const auto session = left();
  manager_->sweep({});
  EXPECT_FALSE(is_kept(session));
  EXPECT_FALSE(fs::exists(directory_of(session)));
}

TEST_F(RoomTest, NothingElseGoesWithItsConnection) {
  const std::map<std::string, std::function<void(const sessions::Session&)>> cases = {
      {"a file", [&](const auto& s) { std::ofstream(directory_of(s) + "/workspace/a") << "x"; }},
      {"a table",
       [&](const auto& s) {
         fs::create_directories(directory_of(s) + "/home/.local/share/hutch");
         std::ofstream(directory_of(s) + "/home/.local/share/hutch/session.sqlite") << "x";
       }},
      {"a package",
       [&](const auto& s) {
         fs::create_directories(directory_of(s) + "/home/.local/lib/node_modules");
       }},
      {"stored state",
       [&](const auto& s) { fs::create_directories(directory_of(s) + "/state/python"); }},
      {"something shared",
       [&](const auto& s) {
         const base::UniqueFd source = base::make_memory_file("source", "x").value();
         EXPECT_TRUE(
             share_->publish(source.get(), {s.id, principal_, "/workspace/f", "", {}}).ok());
       }},
      {"a host that was granted",
       [&](const auto& s) { EXPECT_TRUE(store_->network.set_grant(s.id, "a.b", true, 1).ok()); }},
      {"a run that nobody has read",
       [&](const auto& s) {
         sessions::Run run;
         run.id = base::short_id("run_");
         run.session_id = s.id;
         run.language = "python";
         run.server_id = "gone";
         ASSERT_TRUE(store_->runs.insert(run).ok());
         EXPECT_TRUE(store_->runs.finish(run.id, sessions::testing::end_at(1), {}).value());
       }},
      {"a box that lives",
       [&](const auto& s) {
         // Its lock is held.
         EXPECT_TRUE(fs::exists(directory_of(s)));
         held_.emplace(sandbox::SessionLock::take(directory_of(s)).value());
       }},
  };
  for (const auto& [what, make] : cases) {
    const auto session = left();
    make(session);
    manager_->sweep({});
    EXPECT_TRUE(is_kept(session)) << what;
    held_.reset();
    ASSERT_TRUE(manager_->services().sessions.destroy(principal_, session.id).ok());
  }
}

TEST_F(RoomTest, NeitherGoesOneWhoseConnectionIsThereOrThatHasAName) {
  const auto connected = create("", "connection").value().session;
  const auto named = stopped("named");
  const auto without_connection = stopped();
  manager_->sweep({});
  EXPECT_TRUE(is_kept(connected) && is_kept(named) && is_kept(without_connection));
}

// Its end is read by who gets it, and by nobody who only looks.
TEST_F(RoomTest, WhoGetsTheEndOfARunHasReadIt) {
  const auto session = create().value().session;
  sandbox::RunRequest request;
  request.code = "1";
  const auto ended = manager_->services().runs.start(session, request).value();
  EXPECT_TRUE(is_terminal(ended.run.status));
  EXPECT_TRUE(store_->runs.find(principal_, ended.run.run_id).value().was_read);

  sessions::Run run;
  run.id = base::short_id("run_");
  run.session_id = session.id;
  run.language = "python";
  run.server_id = "gone";
  ASSERT_TRUE(store_->runs.insert(run).ok());
  const auto was_read = [&] { return store_->runs.find(principal_, run.id).value().was_read; };
  using Reader = sessions::Reader;
  EXPECT_TRUE(manager_->services().runs.wait(principal_, run.id, {}, {}, Reader::kNobody).ok());
  EXPECT_FALSE(was_read());
  std::stop_source gone;
  gone.request_stop();
  EXPECT_TRUE(manager_->services().runs.wait(principal_, run.id, {}, gone.get_token()).ok());
  EXPECT_FALSE(was_read());
  EXPECT_TRUE(manager_->services().runs.wait(principal_, run.id, {}, {}).ok());
  EXPECT_TRUE(was_read());
}

}  // namespace
