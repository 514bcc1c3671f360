// The database: migrations, sessions, runs, shares; several servers; a kill in the middle.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/random_id.h"
#include "sessions/audit_table.h"
#include "sessions/file_table.h"
#include "sessions/migrations.h"
#include "sessions/past_table.h"
#include "sessions/principal_table.h"
#include "sessions/run_table.h"
#include "sessions/session_lists.h"
#include "sessions/session_table.h"
#include "sessions/share_table.h"
#include "sessions/sqlite.h"
#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"

namespace {

using namespace sessions;
using Kind = base::Error::Kind;
namespace fs = std::filesystem;

using StoreTest = sessions::testing::StoreFixture;

TEST_F(StoreTest, PrincipalsAreMadeOnce) {
  EXPECT_EQ(store_->principals.ensure("p").value(), principal_);
  EXPECT_NE(store_->principals.ensure("q").value(), principal_);
}

TEST_F(StoreTest, ASessionComesBackAsItWent) {
  Session wanted = session("name");
  wanted.limits.cpus = 1;
  wanted.env = {{"A", "b"}};
  wanted.metadata = {{"team", "red"}};
  wanted.host_folders = {
      {.name = "sales", .path = "/srv/sales", .writable = true, .blocked = {"x"}}};
  wanted.paths = {.read_only = {"/workspace/a"}, .read_write = {}, .blocked = {"/etc/hosts"}};
  wanted.network =
      NetworkChoice{{"packages"}, {"key"}, {sandbox::parse_address_range("10.0.0.0/8").value()}};

  wanted.lifetime_seconds = 60;
  wanted.ends_with_connection = true;
  const Session made = store_->sessions.create(wanted, std::nullopt, 10).value();
  const Session found = store_->sessions.find(principal_, "name").value();
  EXPECT_EQ(found.id, wanted.id);
  EXPECT_EQ(found.limits, wanted.limits);
  EXPECT_EQ(found.env, wanted.env);
  EXPECT_EQ(found.metadata, wanted.metadata);
  EXPECT_EQ(found.host_folders, wanted.host_folders);
  EXPECT_EQ(found.paths, wanted.paths);
  EXPECT_EQ(found.network, wanted.network);
  EXPECT_EQ(found.lifetime_seconds, 60);
  EXPECT_TRUE(found.ends_with_connection);
  EXPECT_EQ(found.status, SessionStatus::kProvisioning);
  EXPECT_FALSE(found.host_uid);
  EXPECT_EQ(store_->sessions.find(principal_, wanted.id).value().name, "name");
}

TEST_F(StoreTest, WhatE2bsSdksWantComesBack) {
  const Session made = store_->sessions.create(session_of_e2b(), std::nullopt, 10).value();
  expect_of_e2b(store_->sessions.find(principal_, made.id).value());
  const Session usual = created();
  EXPECT_EQ(usual.working_directory, kWorkspace);
  EXPECT_TRUE(!usual.public_ports && usual.wakes_by_port && !usual.pauses_at_end);
  EXPECT_FALSE(usual.port_host);
  EXPECT_EQ(absolute_path(made, "a/b"), "/home/user/a/b");
  EXPECT_EQ(absolute_path(usual, "/a"), "/a");
  EXPECT_FALSE(store_->sessions.find(principal_, usual.id).value().network);
  ASSERT_TRUE(store_->sessions.set_network(usual.id, NetworkChoice()).ok());
  EXPECT_EQ(store_->sessions.find(principal_, usual.id).value().network, NetworkChoice());
  const auto newest = store_->session_lists.newest_used(1).value();
  ASSERT_EQ(newest.size(), 1U);
}

TEST_F(StoreTest, NamesAreUniqueAmongTheLiving) {
  const Session first = created("n");
  EXPECT_EQ(store_->sessions.create(session("n"), std::nullopt, 10).error().kind, Kind::kConflict);
  const std::string other = store_->principals.ensure("other").value();
  EXPECT_TRUE(store_->sessions.create(session("n", other), std::nullopt, 10).ok());
  ASSERT_TRUE(store_->sessions.set_status(first.id, SessionStatus::kDestroyed, "").value());
  EXPECT_TRUE(store_->sessions.create(session("n"), std::nullopt, 10).ok());
}

TEST_F(StoreTest, HostIdsAreTheLowestFree) {
  const auto a = created();
  const auto b = created();
  const auto c = created();
  EXPECT_EQ(a.host_uid, 1'900'000'000);
  EXPECT_EQ(b.host_uid, 1'900'000'001);
  EXPECT_EQ(c.host_uid, 1'900'000'002);
  ASSERT_TRUE(store_->sessions.set_status(b.id, SessionStatus::kDestroyed, "").value());
  EXPECT_EQ(created().host_uid, 1'900'000'003) << "something of b may still run";
  ASSERT_EQ(store_->session_lists.unburied().value().size(), 1U);
  ASSERT_TRUE(store_->past.set_buried(b.id).ok());
  EXPECT_TRUE(store_->session_lists.unburied().value().empty());
  EXPECT_EQ(created().host_uid, 1'900'000'001);
  EXPECT_EQ(store_->sessions.create(session(), HostUidRange{1'900'000'000, 4}, 100).error().kind,
            Kind::kLimit);
}

TEST_F(StoreTest, HostIdsAreUniqueWhenServersRace) {
  constexpr int kThreads = 4;
  constexpr int kEach = 10;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([this] {
        const auto other = Store::open(path()).value();
        for (int n = 0; n < kEach; ++n) {
          EXPECT_TRUE(other->sessions.create(session(), kIds, 1000).ok());
        }
      });
    }
  }
  std::set<std::int64_t> ids;
  for (const Session& s : store_->session_lists.newest(principal_, false, 1000).value())
    ids.insert(*s.host_uid);
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kThreads * kEach));
}

TEST_F(StoreTest, TheNumberOfSessionsIsBounded) {
  const std::string remedy =
      " already, the most allowed: delete_session one that is not needed; max_sessions in "
      "[session] of the configuration allows more";
  created();
  const auto second = store_->sessions.create(session(), std::nullopt, 1);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().kind, Kind::kLimit);
  EXPECT_EQ(second.error().message, "there is 1 session" + remedy);
  created();
  EXPECT_EQ(store_->sessions.create(session(), std::nullopt, 2).error().message,
            "there are 2 sessions" + remedy);
}

TEST_F(StoreTest, ASessionThatDidNotGetItsBoxIsAsItWas) {
  for (const auto status : {SessionStatus::kError, SessionStatus::kStopped}) {
    const Session made = created();
    ASSERT_TRUE(store_->sessions.set_status(made.id, status, "why").value());
    const Session before = store_->sessions.find(principal_, made.id).value();
    EXPECT_TRUE(store_->sessions.claim_box(before, 1000, 1).value());
    EXPECT_FALSE(store_->sessions.claim_box(before, 1000, 1).value()) << "it is claimed";
    ASSERT_TRUE(store_->sessions.unclaim_box(before).ok());
    const Session after = store_->sessions.find(principal_, made.id).value();
    EXPECT_EQ(after.status, status);
    EXPECT_EQ(after.error, before.error);
  }
}

TEST_F(StoreTest, ForeignAndUnknownSessionsLookTheSame) {
  const Session mine = created("mine");
  const std::string other = store_->principals.ensure("other").value();
  const auto foreign = store_->sessions.find(other, mine.id);
  const auto unknown = store_->sessions.find(other, base::random_id("session_"));
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().message, unknown.error().message);
  EXPECT_EQ(foreign.error().kind, Kind::kNotFound);
  EXPECT_FALSE(store_->sessions.find(other, "mine").ok());
  EXPECT_TRUE(store_->session_lists.newest(other, false, 1).value().empty());
}

TEST_F(StoreTest, ForeignAndUnknownRunsLookTheSame) {
  const auto run = inserted(created());
  const std::string other = store_->principals.ensure("other").value();
  EXPECT_EQ(store_->runs.find(other, run.id).error().message,
            store_->runs.find(other, base::random_id("run_")).error().message);
  EXPECT_TRUE(store_->runs.find(principal_, run.id).ok());
}

TEST_F(StoreTest, DestroyedIsForEver) {
  const Session made = created();
  EXPECT_TRUE(store_->sessions.set_status(made.id, SessionStatus::kDestroyed, "").value());
  EXPECT_FALSE(store_->sessions.set_status(made.id, SessionStatus::kReady, "").value());
  const Session found = store_->sessions.find(principal_, made.id).value();
  EXPECT_EQ(found.status, SessionStatus::kDestroyed);
  EXPECT_TRUE(found.ended_at);
  EXPECT_TRUE(store_->session_lists.live().value().empty());
  EXPECT_FALSE(store_->sessions.is_live(made.id).value());
}

TEST_F(StoreTest, ADamagedRowIsNamedAndKeepsNobodyElseFromTheirs) {
  const Session made = created();
  const Session other = created();
  auto database = Database::open(path()).value();
  const auto change = [&](const std::string& what) {
    const std::string sql = "UPDATE sessions SET " + what + " WHERE id = ?";
    return database->prepare(sql.c_str()).value().bind(made.id).run().ok();
  };
  for (const char* damage :
       {"limits = 'x'", R"(limits = '{"cpus":"1"}')", "env = '[]'", R"(metadata = '{"a":1}')",
        R"(network = '{"allow":[1]}')", "host_folders = '{}'", "paths = '1'"}) {
    ASSERT_TRUE(change(damage));
    const Session found = store_->sessions.find(principal_, made.id).value();
    ASSERT_TRUE(found.unreadable) << damage;
    EXPECT_TRUE(found.unreadable->starts_with("sessions.")) << *found.unreadable;
    EXPECT_FALSE(store_->sessions.find(principal_, other.id).value().unreadable) << damage;
    EXPECT_EQ(store_->session_lists.live().value().size(), 2U);
    ASSERT_TRUE(
        change("limits = '{}', env = '{}', metadata = '{}', network = NULL, "
               "host_folders = NULL, paths = NULL"));
    EXPECT_FALSE(store_->sessions.find(principal_, made.id).value().unreadable) << damage;
  }
}

TEST_F(StoreTest, StatusesHaveNames) {
  for (const char* name :
       {"provisioning", "ready", "running", "paused", "stopped", "error", "destroyed"}) {
    EXPECT_STREQ(name_of(find_session_status(name).value()), name);
  }
  EXPECT_FALSE(find_session_status("asleep"));
}

TEST_F(StoreTest, EveryChangeOfStatusHasItsAuditRow) {
  const Session made = created();
  using enum SessionStatus;
  for (const SessionStatus status : {kReady, kPaused, kReady, kDestroyed}) {
    ASSERT_TRUE(store_->sessions.set_status(made.id, status, "").value());
  }
  EXPECT_FALSE(store_->sessions.set_status(made.id, SessionStatus::kDestroyed, "").value());
  std::vector<std::string> actions;
  for (const AuditEntry& entry : store_->audit.of_session(made.id, 100).value()) {
    actions.push_back(entry.action);
  }
  EXPECT_EQ(actions, (std::vector<std::string>{"create_session", "session_ready", "session_paused",
                                               "session_ready", "session_destroyed"}));
}

TEST_F(StoreTest, TheAuditSaysWhyAndWhat) {
  const Session made = created();
  ASSERT_TRUE(store_->sessions.set_status(made.id, SessionStatus::kReady, "").value());
  Share share;
  share.id = base::random_id("share_");
  share.session_id = made.id;
  share.principal_id = principal_;
  share.filename = "a\"b.csv";
  share.bytes = 7;
  share.sha256 = "abc";
  share.expires_at = 86'400'000;
  ASSERT_TRUE(store_->shares.insert(share).ok());
  ASSERT_TRUE(
      store_->sessions.set_status(made.id, SessionStatus::kDestroyed, "its time is over").value());
  std::vector<std::string> details;
  for (const AuditEntry& entry : store_->audit.of_session(made.id, 3).value()) {
    details.push_back(entry.detail);
  }
  const std::string shared =
      R"({"bytes":7,"expires_at":"1970-01-02T00:00:00.000Z","filename":"a\"b.csv","sha256":"abc",)"
      R"("share":")" +
      share.id + R"("})";
  EXPECT_EQ(details, (std::vector<std::string>{"{}", shared, R"({"reason":"its time is over"})"}));
  EXPECT_EQ(store_->audit.of_session(made.id, 1).value()[0].action, "session_destroyed");
}

TEST_F(StoreTest, TheFirstTerminalRecordWins) {
  const Session owner = created();
  const auto run = inserted(owner);
  ASSERT_TRUE(store_->runs.set_started(run.id).ok());
  const FileRecord file{owner.id, run.id, "/workspace/a", "created", 1, std::nullopt, 5};
  EXPECT_TRUE(store_->runs.finish(run.id, "completed", 5, R"({"n":1})", {file}).value());
  EXPECT_FALSE(store_->runs.finish(run.id, "failed", 6, R"({"n":2})", {file}).value());
  const auto found = store_->runs.find(principal_, run.id).value();
  EXPECT_EQ(found.status, "completed");
  EXPECT_EQ(found.record, R"({"n":1})");
  EXPECT_TRUE(store_->runs.unfinished(owner.id).value().empty());
  ASSERT_TRUE(store_->runs.set_started(run.id).ok());
  EXPECT_EQ(store_->runs.find(principal_, run.id).value().status, "completed");
}

TEST_F(StoreTest, ManyServersCommitOneRecord) {
  const auto run = inserted(created());
  std::atomic<int> applied = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const auto other = Store::open(path()).value();
        if (other->runs.finish(run.id, "completed", 1, "{}", {}).value()) ++applied;
      });
    }
  }
  EXPECT_EQ(applied, 1);
}

TEST_F(StoreTest, ARunNeedsItsSession) {
  sessions::Run run;
  run.id = base::random_id("run_");
  run.session_id = "nobody";
  EXPECT_FALSE(store_->runs.insert(run).ok());
}

TEST_F(StoreTest, RunsAreListedNewestFirst) {
  const Session owner = created();
  for (int i = 0; i < 3; ++i) {
    sessions::Run run;
    run.id = base::random_id("run_");
    run.session_id = owner.id;
    run.language = std::to_string(i);
    run.queued_at = i;
    ASSERT_TRUE(store_->runs.insert(run).ok());
  }
  const auto runs = store_->runs.of_session(owner.id, 2).value();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].language, "2");
}

TEST_F(StoreTest, RunsOfAPrincipalComeInPages) {
  const std::string other = store_->principals.ensure("other").value();
  const Session foreign = store_->sessions.create(session("", other), std::nullopt, 10).value();
  std::vector<std::string> expected;
  for (int i = 0; i < 5; ++i) {
    expected.insert(expected.begin(), inserted(created()).id);
    inserted(foreign);
    while (base::now_ms() <= store_->runs.find(principal_, expected[0]).value().queued_at) {
    }
  }
  std::vector<std::string> listed;
  std::optional<RunPlace> place;
  for (int page = 0; page < 4; ++page) {
    for (const RunHead& run : store_->runs.newest(principal_, place, 2).value()) {
      listed.push_back(run.id);
      place = {run.queued_at, run.id};
    }
  }
  EXPECT_EQ(listed, expected);
}

TEST_F(StoreTest, SharesExpire) {
  const Session owner = created();
  Share share;
  share.id = base::random_id("share_");
  share.session_id = owner.id;
  share.principal_id = principal_;
  share.created_at = base::now_ms();
  share.expires_at = base::now_ms() + 1'000'000;
  ASSERT_TRUE(store_->shares.insert(share).ok());
  EXPECT_TRUE(store_->shares.find(principal_, share.id).ok());
  EXPECT_FALSE(store_->shares.find("other", share.id).ok());
  EXPECT_TRUE(store_->shares.expired(base::now_ms()).value().empty());
  EXPECT_EQ(store_->shares.expired(*share.expires_at).value().size(), 1U);
  share.id = base::random_id("share_");
  share.expires_at = 1;
  ASSERT_TRUE(store_->shares.insert(share).ok());
  EXPECT_FALSE(store_->shares.find(principal_, share.id).ok());
  EXPECT_EQ(store_->shares.list(principal_).value().size(), 1U);
  ASSERT_TRUE(store_->shares.remove(share.id).ok());
  EXPECT_FALSE(store_->shares.exists(share.id).value());
}

TEST_F(StoreTest, ANewerDatabaseIsRefused) {
  {
    const auto database = Database::open(path()).value();
    ASSERT_TRUE(database->execute("PRAGMA user_version = 99").ok());
  }
  const auto opened = Store::open(path());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, Kind::kUnsupported);
}

TEST_F(StoreTest, ADamagedDatabaseIsAClearError) {
  store_.reset();
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path() + suffix);
  std::ofstream(path()) << std::string(10'000, 'x');
  const auto opened = Store::open(path());
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("damaged"), std::string::npos) << opened.error().message;
}

TEST_F(StoreTest, TheFileIsOursAlone) {
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(StoreTest, AWriterKilledAnywhereLeavesADatabaseThatIsRight) {
  const Session owner = created();
  for (int round = 0; round < 5; ++round) {
    const pid_t child = ::fork();  // a test process of one thread
    if (child == 0) {
      const auto store = Store::open(path());
      if (!store.ok()) ::_exit(1);
      while (true) {
        sessions::Run run;
        run.id = base::random_id("run_");
        run.session_id = owner.id;
        run.language = "python";
        run.queued_at = 1;
        (void)store.value()->runs.insert(run);
        (void)store.value()->runs.finish(
            run.id, "completed", 1, "{}",
            {{owner.id, run.id, "/workspace/a", "created", 1, std::nullopt, 1}});
      }
    }
    const std::size_t before = store_->runs.of_session(owner.id, 1'000'000).value().size();
    while (store_->runs.of_session(owner.id, 1'000'000).value().size() < before + 5) {
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto database = Database::open(path()).value();
    Statement check = database->prepare("PRAGMA integrity_check").value();
    ASSERT_TRUE(check.step().value());
    EXPECT_EQ(check.text(), "ok");
    Statement halves =
        database
            ->prepare(
                "SELECT count(*) FROM runs WHERE (record IS NULL) <> (finished_at IS NULL) OR "
                "(status = "
                "'completed' AND NOT EXISTS (SELECT 1 FROM files WHERE files.run_id = runs.id))")
            .value();
    ASSERT_TRUE(halves.step().value());
    EXPECT_EQ(halves.integer(), 0);
  }
}

TEST(Store, OpensForServersThatStartAtOnce) {
  for (int round = 0; round < 200; ++round) {
    std::string directory = ::testing::TempDir() + "hutch_open_XXXXXX";
    ASSERT_NE(::mkdtemp(directory.data()), nullptr);
    std::barrier start(4);
    std::vector<std::string> failures(4);
    {
      std::vector<std::jthread> servers;
      for (std::string& failure : failures) {
        servers.emplace_back([&] {
          start.arrive_and_wait();
          const auto store = Store::open(directory + "/hutch.db");
          if (!store.ok()) failure = store.error().message;
        });
      }
    }
    ASSERT_EQ(failures, std::vector<std::string>(4)) << "round " << round;
    fs::remove_all(directory);
  }
}

TEST(Transaction, RollsBackUnlessCommitted) {
  std::string directory = ::testing::TempDir() + "hutch_tx_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const auto database = Database::open(directory + "/db").value();
  ASSERT_TRUE(database->execute("CREATE TABLE a (n)").ok());
  {
    const auto transaction = Transaction::begin(*database);
    ASSERT_TRUE(transaction.ok());
    ASSERT_TRUE(database->execute("INSERT INTO a VALUES (1)").ok());
  }
  Statement count = database->prepare("SELECT count(*) FROM a").value();
  ASSERT_TRUE(count.step().value());
  EXPECT_EQ(count.integer(), 0);
  fs::remove_all(directory);
}

}  // namespace
