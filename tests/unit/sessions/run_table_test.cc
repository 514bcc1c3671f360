// Rows of runs: one end each, found by whom they belong to, and counted as they change.
#include "sessions/run_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random_id.h"
#include "sessions/file_table.h"
#include "sessions/past_table.h"
#include "sessions/session.h"
#include "sessions/spare_table.h"
#include "sessions/store.h"
#include "tests/unit/sessions/run_ends.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

namespace fs = std::filesystem;
using Kind = base::Error::Kind;
using sandbox::RunStatus;
using testing::end_at;

class RunTableTest : public testing::StoreFixture {
 protected:
  using Row = sessions::Run;
  using Names = std::set<std::string>;

  Row queued(const Session& owner, const std::string& id, std::int64_t queued_at,
             const std::string& language = "python") {
    Row run;
    run.id = id;
    run.session_id = owner.id;
    run.language = language;
    run.queued_at = queued_at;
    EXPECT_TRUE(store_->runs.insert(run).ok());
    return run;
  }
  bool finish(const Row& run, const std::string& note = "") {
    const sandbox::Run end = end_at(run.queued_at + 1, RunStatus::kCompleted, note);
    return store_->runs.finish(run.id, end, {}).value();
  }
  std::string note_of(const Row& run) { return store_->runs.end_of(run.id).value()->note; }
  Row found(const Row& run) { return store_->runs.find(principal_, run.id).value(); }

  // Holds the counts against those of the rows.
  void expect_right(const std::string& when) {
    const Counts counts = store_->runs.counts().value();
    const auto database = Database::open(path()).value();
    std::map<std::string, std::int64_t> sessions;
    Statement all = database
                        ->prepare(
                            "SELECT status, count(*) FROM sessions WHERE principal_id <> "
                            "'spare' GROUP BY status")
                        .value();
    while (all.step().value()) {
      const std::string status = all.text();
      sessions[status] = all.integer();
    }
    EXPECT_EQ(counts.sessions, sessions) << when;
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> runs;
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> counted;
    Statement every = database
                          ->prepare(
                              "SELECT status, count(*), coalesce(sum(finished_at - "
                              "queued_at), 0) FROM runs GROUP BY status")
                          .value();
    while (every.step().value()) {
      const std::string status = every.text();
      runs[status].first = every.integer();
      runs[status].second = every.integer();
    }
    for (const auto& [status, count] : counts.runs) {
      counted[status] = {count.runs, count.milliseconds};
    }
    EXPECT_EQ(counted, runs) << when;
  }
};

TEST_F(RunTableTest, ARunComesBackAsItWent) {
  const Session owner = created();
  Row run;
  run.id = "run_1";
  run.session_id = owner.id;
  run.language = "node";
  run.background = true;
  run.code_sha256 = "abc";
  run.server_id = "server";
  run.queued_at = 7;
  ASSERT_TRUE(store_->runs.insert(run).ok());
  const Row back = found(run);
  EXPECT_EQ(back.id, "run_1");
  EXPECT_EQ(back.session_id, owner.id);
  EXPECT_EQ(back.language, "node");
  EXPECT_EQ(back.status, "queued");
  EXPECT_TRUE(back.background);
  EXPECT_EQ(back.code_sha256, "abc");
  EXPECT_EQ(back.server_id, "server");
  EXPECT_EQ(back.queued_at, 7);
  EXPECT_FALSE(back.finished_at || back.was_read);
}

TEST_F(RunTableTest, ARunNeedsItsSession) {
  sessions::Run run;
  run.id = base::random_id("run_");
  run.session_id = "nobody";
  EXPECT_FALSE(store_->runs.insert(run).ok());
}

TEST_F(RunTableTest, ARunIsAUseOfItsSession) {
  const Session owner = created();
  const Session other = created();
  const std::int64_t at = owner.last_used_at + 7;
  const Row run = queued(owner, "run_1", at);
  EXPECT_EQ(row_of(owner).last_used_at, at);
  queued(owner, "run_2", at - 1);
  EXPECT_EQ(row_of(owner).last_used_at, at) << "a clock that was put back";
  Row again = run;
  again.queued_at = at + 1;
  EXPECT_EQ(store_->runs.insert(again).error().kind, Kind::kConflict);
  EXPECT_EQ(row_of(owner).last_used_at, at) << "it was refused";
  EXPECT_EQ(row_of(other).last_used_at, other.last_used_at);
}

TEST_F(RunTableTest, ForeignAndUnknownRunsLookTheSame) {
  const auto run = inserted(created());
  const std::string other = store_->principals.ensure("other").value();
  EXPECT_EQ(store_->runs.find(other, run.id).error().message,
            store_->runs.find(other, base::random_id("run_")).error().message);
  EXPECT_TRUE(store_->runs.find(principal_, run.id).ok());
}

TEST_F(RunTableTest, TheFirstTerminalRecordWins) {
  const Session owner = created();
  const auto run = inserted(owner);
  ASSERT_TRUE(store_->runs.set_started(run.id).ok());
  const FileRecord file{owner.id, run.id, "/workspace/a", "created", 1, std::nullopt, 5};
  EXPECT_TRUE(store_->runs.finish(run.id, end_at(5), {file}).value());
  EXPECT_FALSE(store_->runs.finish(run.id, end_at(6, RunStatus::kFailed), {file}).value());
  const auto found = store_->runs.find(principal_, run.id).value();
  EXPECT_EQ(found.status, "completed");
  EXPECT_EQ(found.finished_at, 5);
  EXPECT_EQ(store_->runs.end_of(run.id).value()->finished_at_ms, 5);
  EXPECT_TRUE(store_->runs.unfinished(owner.id).value().empty());
  ASSERT_TRUE(store_->runs.set_started(run.id).ok());
  EXPECT_EQ(store_->runs.find(principal_, run.id).value().status, "completed");
}

TEST_F(RunTableTest, FilesGoWithTheFirstRecordAlone) {
  const Session owner = created();
  const Row run = inserted(owner);
  const FileRecord a{owner.id, run.id, "a", "created", 1, std::nullopt, 5};
  const FileRecord b{owner.id, run.id, "b", "deleted", 0, std::nullopt, 5};
  const FileRecord late{owner.id, run.id, "late", "created", 1, std::nullopt, 6};
  EXPECT_TRUE(store_->runs.finish(run.id, end_at(5), {a, b}).value());
  EXPECT_FALSE(store_->runs.finish(run.id, end_at(6), {late}).value());
  EXPECT_EQ(store_->files.changes(owner.id, 0, {"a", "b", "late"}).value(),
            (std::map<std::string, std::string>{{"a", "created"}, {"b", "deleted"}}));
  EXPECT_EQ(found(run).finished_at, 5);
}

TEST_F(RunTableTest, AnEndWhoseFilesAreRefusedIsNone) {
  const Session owner = created();
  const Row run = inserted(owner);
  const FileRecord wrong{owner.id, run.id, "a", "renamed", 1, std::nullopt, 5};
  EXPECT_FALSE(store_->runs.finish(run.id, end_at(5), {wrong}).ok());
  EXPECT_EQ(found(run).status, "queued");
  EXPECT_FALSE(store_->runs.end_of(run.id).value());
}

TEST_F(RunTableTest, NobodyStartsOrEndsARunThatIsNotKnown) {
  const Row run = inserted(created());
  EXPECT_FALSE(store_->runs.finish("nobody", end_at(1), {}).value());
  EXPECT_TRUE(store_->runs.set_started("nobody").ok());
  EXPECT_TRUE(store_->runs.set_read("nobody").ok());
  EXPECT_EQ(found(run).status, "queued");
  ASSERT_TRUE(store_->runs.set_started(run.id).ok());
  EXPECT_EQ(found(run).status, "running");
}

TEST_F(RunTableTest, ManyServersCommitOneRecord) {
  const auto run = inserted(created());
  std::atomic<int> applied = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const auto other = Store::open(path()).value();
        if (other->runs.finish(run.id, end_at(1), {}).value()) ++applied;
      });
    }
  }
  EXPECT_EQ(applied, 1);
}

TEST_F(RunTableTest, OnlyAnEndIsRead) {
  const Session owner = created();
  const Row run = inserted(owner);
  const Row other = inserted(owner);
  ASSERT_TRUE(store_->runs.set_read(run.id).ok());
  EXPECT_FALSE(found(run).was_read) << "it has not ended";
  ASSERT_TRUE(finish(run) && finish(other));
  EXPECT_FALSE(found(run).was_read);
  ASSERT_TRUE(store_->runs.set_read(run.id).ok());
  EXPECT_TRUE(found(run).was_read);
  EXPECT_FALSE(found(other).was_read);
  const Row told = inserted(owner);
  ASSERT_TRUE(store_->runs.finish(told.id, end_at(1), {}, EndRead::kAsItEnds).value());
  EXPECT_TRUE(found(told).was_read) << "a client heard it as it ended";
}

TEST_F(RunTableTest, AnEndIsThereOnceItHasEnded) {
  const Row run = inserted(created());
  EXPECT_FALSE(store_->runs.end_of(run.id).value());
  EXPECT_FALSE(found(run).has_ended());
  EXPECT_FALSE(store_->runs.end_of("nobody").value());
  ASSERT_TRUE(finish(run, "a note"));
  EXPECT_EQ(note_of(run), "a note");
  EXPECT_TRUE(found(run).has_ended());
}

TEST_F(RunTableTest, AnEndThatCannotBeReadIsAFailureOfItsOwn) {
  const Row run = inserted(created());
  ASSERT_TRUE(finish(run));
  execute("UPDATE runs SET record = '{\"run_id\":'");
  EXPECT_FALSE(store_->runs.end_of(run.id).ok());
  EXPECT_TRUE(found(run).has_ended()) << "the row can be read";
}

TEST_F(RunTableTest, RunsAreListedNewestFirst) {
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

TEST_F(RunTableTest, ASessionListsItsOwnRunsAlone) {
  const Session owner = created();
  queued(created(), "run_of_another", 9);
  EXPECT_TRUE(store_->runs.of_session(owner.id, 10).value().empty());
  queued(owner, "old", 1);
  const Row ended = queued(owner, "ended", 2);
  ASSERT_TRUE(finish(ended));
  EXPECT_EQ(ids_in(store_->runs.of_session(owner.id, 10).value()),
            (std::vector<std::string>{"ended", "old"}));
  queued(owner, "ended_with_it", 2);
  queued(owner, "begun_with_it", 2);
  EXPECT_EQ(ids_in(store_->runs.of_session(owner.id, 10).value()),
            (std::vector<std::string>{"begun_with_it", "ended", "ended_with_it", "old"}));
  EXPECT_TRUE(store_->runs.of_session(owner.id, 0).value().empty());
  EXPECT_TRUE(store_->runs.of_session("nobody", 10).value().empty());
}

TEST_F(RunTableTest, RunsOfAPrincipalComeInPages) {
  const std::string other = store_->principals.ensure("other").value();
  const Session foreign = store_->sessions.create(session("", other), std::nullopt, 10).value();
  std::vector<std::string> expected;
  for (int i = 0; i < 5; ++i) {
    expected.insert(expected.begin(), inserted(created()).id);
    inserted(foreign);
  }
  std::vector<std::string> listed;
  std::optional<RunPlace> place;
  for (int page = 0; page < 4; ++page) {
    for (const Row& run : store_->runs.newest(principal_, place, 2).value()) {
      listed.push_back(run.id);
      place = {run.queued_at, run.id};
    }
  }
  EXPECT_EQ(listed, expected);
}

TEST_F(RunTableTest, PagesHaveEachRunOnceThoughAllWereQueuedAtOnce) {
  const Session owner = created();
  for (const char* id : {"b", "d", "a", "c", "e"}) queued(owner, id, 7);
  std::vector<std::string> listed;
  std::optional<RunPlace> place;
  for (int page = 0; page < 4; ++page) {
    const auto runs = store_->runs.newest(principal_, place, 2).value();
    EXPECT_LE(runs.size(), 2U);
    for (const Row& run : runs) {
      listed.push_back(run.id);
      place = {run.queued_at, run.id};
    }
  }
  EXPECT_EQ(listed, (std::vector<std::string>{"e", "d", "c", "b", "a"}));
}

TEST_F(RunTableTest, UnfinishedRunsOfASessionComeAsTheyWereQueued) {
  const Session owner = created();
  inserted(created());
  EXPECT_TRUE(store_->runs.unfinished(owner.id).value().empty());
  queued(owner, "c", 8);
  const Row running = queued(owner, "b", 7);
  queued(owner, "a", 8);
  const Row ended = queued(owner, "ended", 1);
  ASSERT_TRUE(store_->runs.set_started(running.id).ok());
  ASSERT_TRUE(finish(ended));
  EXPECT_EQ(ids_in(store_->runs.unfinished(owner.id).value()),
            (std::vector<std::string>{"b", "a", "c"}));
}

TEST_F(RunTableTest, RecordsOfADestroyedSessionAreErasedAllAndNoOthers) {
  const Session owner = created();
  const Session lives = created();
  std::vector<Row> runs;
  // They are more than one transaction has, and were queued at once.
  for (int i = 0; i < 20; ++i) runs.push_back(queued(owner, base::short_id("run_"), 7));
  const Row open = queued(owner, "open", 8);
  const Row other = queued(lives, "other", 7);
  for (const Row& run : runs) ASSERT_TRUE(finish(run, "marmalade"));
  ASSERT_TRUE(finish(other, "marmalade"));
  ASSERT_TRUE(store_->runs.erase_records(owner.id).ok());
  EXPECT_EQ(note_of(runs[0]), "marmalade") << "the session is not destroyed";
  destroy(owner);
  ASSERT_TRUE(store_->runs.erase_records(owner.id).ok());
  for (const Row& run : runs) {
    const Row erased = found(run);
    EXPECT_EQ(note_of(run), "its session was deleted, and its output with it");
    EXPECT_EQ(erased.status, "completed");
    EXPECT_EQ(erased.finished_at, run.queued_at + 1);
  }
  EXPECT_FALSE(store_->runs.end_of(open.id).value());
  EXPECT_EQ(note_of(other), "marmalade");
}

TEST_F(RunTableTest, ASessionIsBusyWhileARunOfItIsNotOver) {
  EXPECT_TRUE(store_->runs.busy_sessions().value().empty());
  const Session owner = created();
  const Session foreign = created_by("other");
  const Session paused = created();
  const Session destroyed = created();
  const Row run = inserted(owner);
  const Row second = inserted(owner);
  for (const Session& session : {foreign, paused, destroyed}) inserted(session);
  ASSERT_TRUE(store_->sessions.set_status(paused.id, SessionStatus::kPaused, "").value());
  destroy(destroyed);
  EXPECT_EQ(store_->runs.busy_sessions().value(), (Names{owner.id, foreign.id}));
  ASSERT_TRUE(store_->runs.set_started(run.id).ok());
  ASSERT_TRUE(finish(second));
  EXPECT_EQ(store_->runs.busy_sessions().value(), (Names{owner.id, foreign.id}));
  ASSERT_TRUE(finish(run));
  EXPECT_EQ(store_->runs.busy_sessions().value(), Names{foreign.id});
}

TEST_F(RunTableTest, RecentLanguagesAreThoseSinceThenToWithinAMinute) {
  constexpr std::int64_t kMinute = 60'000;
  EXPECT_TRUE(store_->runs.recent_languages(0).value().empty());
  const Session owner = created();
  queued(owner, "a", 10 * kMinute, "python");
  queued(owner, "b", 20 * kMinute, "node");
  queued(created_by("other"), "c", 30 * kMinute, "bash");
  ASSERT_TRUE(finish(queued(owner, "d", 30 * kMinute, "bash")));
  EXPECT_EQ(store_->runs.recent_languages(10 * kMinute).value(), (Names{"bash", "node", "python"}));
  EXPECT_EQ(store_->runs.recent_languages(11 * kMinute).value(), (Names{"bash", "node"}));
  EXPECT_EQ(store_->runs.recent_languages(30 * kMinute).value(), Names{"bash"});
  EXPECT_TRUE(store_->runs.recent_languages(31 * kMinute).value().empty());
  // A use that is less than a minute later need not be known, and an earlier one takes nothing
  // back.
  queued(owner, "e", 31 * kMinute - 1, "bash");
  queued(owner, "f", 5 * kMinute, "bash");
  EXPECT_EQ(store_->runs.recent_languages(31 * kMinute - 1).value(), Names{"bash"});
  queued(owner, "g", 32 * kMinute, "bash");
  EXPECT_EQ(store_->runs.recent_languages(32 * kMinute).value(), Names{"bash"});
}

TEST_F(RunTableTest, ABurialAndADeletionHideNoRecentLanguage) {
  const Session old = created();
  ASSERT_TRUE(finish(queued(old, "new", 600'000, "node")));
  destroy(old);
  ASSERT_TRUE(store_->past.set_buried(old.id).ok());
  ASSERT_TRUE(store_->past.delete_runs({"new"}).ok());
  EXPECT_EQ(store_->runs.recent_languages(600'000).value(), Names{"node"});
}

// Each page that a run writes is a part of what its call takes.
TEST_F(RunTableTest, ARunThatIsReadAsItEndsWritesFewPages) {
  const Session owner = created();
  ASSERT_TRUE(finish(queued(owner, "first", base::now_ms())));
  execute("PRAGMA wal_checkpoint(TRUNCATE)");
  const std::string log = path() + "-wal";
  const auto pages = [&log] { return fs::file_size(log) / (4096 + 24); };
  const Row run = queued(owner, "second", base::now_ms());
  EXPECT_LE(pages(), 8U);
  const auto before = pages();
  ASSERT_TRUE(
      store_->runs.finish(run.id, end_at(run.queued_at + 1), {}, EndRead::kAsItEnds).value());
  EXPECT_LE(pages() - before, 4U);
}

TEST_F(RunTableTest, CountsAreWhatAWalkWouldFind) {
  expect_right("at first");
  ASSERT_TRUE(store_->spares.ensure_principal().ok());
  const Session taken = store_->sessions.create(session("", kSparePrincipal), kIds, 1000).value();
  const Session spare = store_->sessions.create(session("", kSparePrincipal), kIds, 1000).value();
  expect_right("with spare ones");
  ASSERT_TRUE(store_->spares.adopt(taken.id, session("mine"), 1000).ok());
  expect_right("one was taken");
  EXPECT_EQ(store_->runs.counts().value().sessions.at("provisioning"), 1);
  ASSERT_TRUE(store_->spares.withdraw(spare.id, "why").value());
  ASSERT_TRUE(store_->spares.forget(spare.id).ok());
  expect_right("one is gone");

  const Session one = created();
  const auto queued = inserted(one);
  const auto done = inserted(one);
  ASSERT_TRUE(store_->runs.set_started(done.id).ok());
  expect_right("with runs");
  ASSERT_TRUE(
      store_->runs.finish(done.id, end_at(done.queued_at + 250, RunStatus::kFailed), {}).value());
  EXPECT_FALSE(store_->runs.finish(done.id, end_at(done.queued_at), {}).value());
  expect_right("one has ended");
  EXPECT_EQ(store_->runs.counts().value().runs.at("failed").milliseconds, 250);
  ASSERT_TRUE(store_->sessions.set_status(one.id, SessionStatus::kReady, "").value());
  ASSERT_TRUE(store_->sessions.set_status(one.id, SessionStatus::kDestroyed, "asked").value());
  ASSERT_TRUE(store_->past.set_buried(one.id).ok());
  ASSERT_TRUE(
      store_->runs.finish(queued.id, end_at(queued.queued_at + 1, RunStatus::kCancelled), {})
          .value());
  expect_right("buried");
  // Rows may go one day.
  const auto database = Database::open(path()).value();
  ASSERT_TRUE(database->execute("DELETE FROM runs; DELETE FROM sessions").ok());
  expect_right("all are gone");
  EXPECT_TRUE(store_->runs.counts().value().runs.empty());
}

TEST_F(RunTableTest, CountsAreMadeForADatabaseThatHasNone) {
  const Session one = created();
  const auto run = inserted(one);
  ASSERT_TRUE(store_->runs.finish(run.id, end_at(run.queued_at + 7), {}).value());
  inserted(one);
  store_.reset();
  {
    const auto database = Database::open(path()).value();
    ASSERT_TRUE(database->execute(std::string(kBackToVersion15) + "PRAGMA user_version = 15").ok());
  }
  store_ = Store::open(path()).value();
  expect_right("after the migration");
  EXPECT_EQ(store_->runs.newest(principal_, {}, 5).value().size(), 2U);
  EXPECT_EQ(store_->runs.counts().value().runs.at("completed").milliseconds, 7);
  EXPECT_EQ(store_->runs.recent_languages(run.queued_at).value(), Names{run.language});
}

TEST_F(RunTableTest, CountsAreThoseOfTheRows) {
  const Session owner = created();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(
        store_->runs.finish(inserted(owner).id, end_at(1'000'000 + i), {}, EndRead::kAsItEnds)
            .value());
  }
  inserted(owner);
  const auto running = inserted(owner);
  ASSERT_TRUE(store_->runs.set_started(running.id).ok());
  const Session buried = created();
  destroy(buried);
  ASSERT_TRUE(store_->past.set_buried(buried.id).ok());
  ASSERT_TRUE(store_->spares.ensure_principal().ok());
  const Session spare =
      store_->sessions.create(session("", kSparePrincipal), std::nullopt, 1000).value();
  const auto before = store_->runs.counts().value().sessions;
  EXPECT_TRUE(store_->spares.adopt(spare.id, session("adopted"), 1000).ok());
  auto counts = store_->runs.counts().value().sessions;
  EXPECT_EQ(counts["provisioning"], before.at("provisioning") + 1);
  for (const auto& [status, count] : counts) {
    EXPECT_EQ(count, number_of("SELECT count(*) FROM sessions WHERE status = '" + status + "'"))
        << status;
  }
  for (const auto& [status, count] : store_->runs.counts().value().runs) {
    EXPECT_EQ(count.runs, number_of("SELECT count(*) FROM runs WHERE status = '" + status + "'"))
        << status;
    EXPECT_EQ(count.milliseconds,
              number_of("SELECT coalesce(sum(finished_at - queued_at), 0) FROM runs WHERE "
                        "status = '" +
                        status + "'"));
  }
}

}  // namespace
}  // namespace sessions
