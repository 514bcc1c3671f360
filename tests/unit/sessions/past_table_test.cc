// The past: what is left of a deleted session, what goes with time and what never does, and how
// large the database is then.
#include "sessions/past_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sandbox/run.h"
#include "sessions/audit_table.h"
#include "sessions/file_table.h"
#include "sessions/network_table.h"
#include "sessions/session_lists.h"
#include "sessions/share_table.h"
#include "sessions/store.h"
#include "tests/unit/sessions/run_ends.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class PastTableTest : public testing::StoreFixture {
 protected:
  // It is in nothing but user data.
  static constexpr const char* kSecret = "marmalade";

  bool finish_with_secrets(const sessions::Run& row, std::size_t bytes = 100) {
    sandbox::Run run;
    run.run_id = row.id;
    run.status = sandbox::RunStatus::kFailed;
    run.queued_at_ms = row.queued_at;
    run.started_at_ms = row.queued_at + 1;
    run.finished_at_ms = row.queued_at + 8;
    run.duration_ms = 7;
    run.exit_code = 3;
    run.stdout_bytes = 5;
    run.error = sandbox::RunError{kSecret, kSecret, kSecret, sandbox::Cause::kOom, "", ""};
    while (bytes > 0) {  // none so long that a row of it could not be compared
      const std::size_t size = std::min<std::size_t>(bytes, 10'000);
      run.outputs.push_back({{"is_main_result", false},
                             {"formats", {"text"}},
                             {"text", kSecret + std::string(size, 'x')}});
      bytes -= size;
    }
    run.files_changed = {{"/workspace/" + std::string(kSecret), "created", 1}};
    run.note = kSecret;
    const FileRecord file{row.session_id, row.id, run.files_changed[0].path, "created", 1,
                          std::nullopt,   9};
    return store_->runs.finish(row.id, run, {file}).value();
  }
  // Adds runs of the session that have ended, one after the other.
  void add_runs(const Session& owner, int count, bool are_read = true) {
    for (int i = 0; i < count; ++i) {
      sessions::Run run = inserted(owner);
      ids_.push_back(run.id);
      ASSERT_TRUE(store_->runs
                      .finish(run.id, testing::end_at(1'000'000 + number_++), {},
                              are_read ? EndRead::kAsItEnds : EndRead::kNot)
                      .value());
    }
  }
  Session with_env() {
    Session wanted = session();
    wanted.env = {{"TOKEN", kSecret}};
    return store_->sessions.create(wanted, std::nullopt, 1000).value();
  }
  void bury(const Session& owner) {
    destroy(owner);
    ASSERT_TRUE(store_->past.set_buried(owner.id).ok());
  }
  void shrink() {
    while (store_->past.shrink().value()) {
    }
  }
  // Returns those of all runs.
  std::vector<std::string> that_may_go() {
    std::vector<std::string> found;
    for (const OldRun& run : store_->past.old_runs({}, 100'000).value()) {
      if (run.may_go) found.push_back(run.id);
    }
    return found;
  }
  std::int64_t secret_ends() {
    return number_of("SELECT count(*) FROM runs WHERE instr(record, 'marmalade') > 0");
  }
  [[nodiscard]] std::size_t secrets_on_disk() const {
    std::size_t found = 0;
    for (const char* suffix : {"", "-wal"}) {
      std::ifstream file(path() + suffix);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      for (std::size_t at = bytes.find(kSecret); at != std::string::npos;
           at = bytes.find(kSecret, at + 1)) {
        ++found;
      }
    }
    return found;
  }

  std::vector<std::string> ids_;
  std::int64_t number_ = 0;
};

TEST_F(PastTableTest, OfTheRunsOfABuriedSessionStaysHowAndWhenTheyEnded) {
  const Session owner = with_env();
  const auto run = inserted(owner);
  ASSERT_TRUE(finish_with_secrets(run));
  bury(owner);
  const auto kept = store_->runs.find(principal_, run.id).value();
  EXPECT_EQ(kept.status, "failed");
  EXPECT_EQ(secret_ends(), 0);
  const sandbox::Run shown = *store_->runs.end_of(run.id).value();
  EXPECT_EQ(shown.run_id, run.id);
  EXPECT_EQ(shown.status, sandbox::RunStatus::kFailed);
  EXPECT_EQ(shown.exit_code, 3);
  EXPECT_EQ(shown.duration_ms, 7);
  EXPECT_EQ(shown.started_at_ms, run.queued_at + 1);
  EXPECT_EQ(shown.finished_at_ms, run.queued_at + 8);
  EXPECT_EQ(shown.error->cause, sandbox::Cause::kOom);
  EXPECT_EQ(shown.stdout_bytes, 0);
  EXPECT_EQ(shown.note, "its session was deleted, and its output with it");
  EXPECT_TRUE(store_->sessions.find(principal_, owner.id).value().env.empty());
  EXPECT_EQ(number_of("SELECT count(*) FROM files"), 0);
}

TEST_F(PastTableTest, ABurialLeavesOthersAlone) {
  const Session owner = with_env();
  const Session other = with_env();
  const auto run = inserted(other);
  ASSERT_TRUE(finish_with_secrets(run));
  bury(owner);
  // Not one that is alive, whatever is asked.
  ASSERT_TRUE(store_->past.set_buried(other.id).ok());
  EXPECT_EQ(secret_ends(), 1);
  EXPECT_EQ(store_->sessions.find(principal_, other.id).value().env, other.env);
  EXPECT_EQ(number_of("SELECT count(*) FROM files"), 1);
}

TEST_F(PastTableTest, WhatComesAfterABurialIsNotKept) {
  const Session owner = with_env();
  const auto run = inserted(owner);
  bury(owner);
  EXPECT_TRUE(finish_with_secrets(run));
  EXPECT_EQ(secret_ends(), 0);
  EXPECT_FALSE(finish_with_secrets(run)) << "the first one wins";
  ASSERT_TRUE(store_->files.record({owner.id, std::nullopt, "/a", "created", 1, "", 1}).ok());
  EXPECT_EQ(number_of("SELECT count(*) FROM files"), 0);
}

TEST_F(PastTableTest, ABurialThatWasKilledInBetweenIsFinishedByTheNext) {
  const Session owner = with_env();
  constexpr int kRuns = 30;  // more than one transaction has
  for (int i = 0; i < kRuns; ++i) ASSERT_TRUE(finish_with_secrets(inserted(owner)));
  ASSERT_TRUE(store_->sessions.set_status(owner.id, SessionStatus::kDestroyed, "").value());
  {
    // As after a kill between two transactions: some are short, nothing else is done.
    const auto database = Database::open(path()).value();
    ASSERT_TRUE(database
                    ->execute("CREATE TRIGGER stop BEFORE UPDATE OF buried ON sessions BEGIN "
                              "SELECT RAISE(ABORT, 'killed'); END")
                    .ok());
    EXPECT_FALSE(store_->past.set_buried(owner.id).ok());
    ASSERT_TRUE(database->execute("DROP TRIGGER stop").ok());
  }
  ASSERT_EQ(store_->session_lists.unburied().value().size(), 1U);
  for (int again = 0; again < 2; ++again) ASSERT_TRUE(store_->past.set_buried(owner.id).ok());
  EXPECT_TRUE(store_->session_lists.unburied().value().empty());
  shrink();
  EXPECT_EQ(secrets_on_disk(), 0U);
  EXPECT_EQ(number_of("SELECT count(*) FROM runs WHERE json_valid(record)"), kRuns);
}

TEST_F(PastTableTest, TheFileShrinksAndNothingIsLeftInIt) {
  const Session owner = with_env();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(finish_with_secrets(inserted(owner), 2'000'000));
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(finish_with_secrets(inserted(owner), 1000));
  shrink();
  const auto before = fs::file_size(path());
  EXPECT_GT(before, 10'000'000U);
  EXPECT_GT(secrets_on_disk(), 0U);
  bury(owner);
  shrink();
  EXPECT_LT(fs::file_size(path()), before / 5) << "some 800 bytes for each run";
  EXPECT_EQ(fs::file_size(path() + "-wal"), 0U);
  EXPECT_EQ(secrets_on_disk(), 0U);
}

TEST_F(PastTableTest, AnOlderDatabaseIsCleanedAndShrinksToo) {
  const Session owner = with_env();
  const auto run = inserted(owner);
  ASSERT_TRUE(finish_with_secrets(run, 2'000'000));
  bury(owner);
  store_.reset();
  {
    const auto database = Database::open(path()).value();
    ASSERT_TRUE(
        database
            ->execute(std::string(kBackToVersion15) +
                      "ALTER TABLE sessions DROP COLUMN network; "
                      "ALTER TABLE sessions DROP COLUMN paths; "
                      "ALTER TABLE sessions DROP COLUMN metadata; DROP TABLE credentials; "
                      "ALTER TABLE sessions DROP COLUMN network_bytes; DROP TABLE network_days; "
                      "DROP TABLE network_requests; DROP TABLE network_grants; "
                      "PRAGMA auto_vacuum = NONE; "
                      "VACUUM; PRAGMA user_version = 5")
            .ok());
    Statement old =
        database->prepare("UPDATE runs SET record = ? || '\"marmalade' || hex(zeroblob(1000000))")
            .value();
    ASSERT_TRUE(old.bind("no JSON").run().ok());
  }
  ASSERT_EQ(number_of("PRAGMA auto_vacuum"), 0);
  store_ = Store::open(path()).value();
  EXPECT_EQ(number_of("PRAGMA auto_vacuum"), 2);
  for (const Session& session : store_->session_lists.unburied().value()) {
    ASSERT_TRUE(store_->past.set_buried(session.id).ok());
  }
  shrink();
  EXPECT_EQ(secrets_on_disk(), 0U);
  EXPECT_LT(fs::file_size(path()), 1'000'000U);
  EXPECT_EQ(store_->runs.find(principal_, run.id).value().status, "failed");
}

TEST_F(PastTableTest, TheNewestThousandRunsOfASessionThatExistsStay) {
  const Session owner = created();
  add_runs(owner, 1000);
  EXPECT_TRUE(that_may_go().empty());
  add_runs(owner, 3);
  EXPECT_EQ(that_may_go().size(), 3U);
  add_runs(created(), 5);
  EXPECT_EQ(that_may_go().size(), 3U) << "of another session";
  bury(owner);
  EXPECT_EQ(that_may_go().size(), 1003U);
}

TEST_F(PastTableTest, ARunThatNobodyHasReadStays) {
  const Session owner = created();
  add_runs(owner, 1, false);
  add_runs(owner, 1000);
  EXPECT_TRUE(that_may_go().empty());
  ASSERT_TRUE(store_->runs.set_read(ids_[0]).ok());
  EXPECT_EQ(that_may_go(), (std::vector<std::string>{ids_[0]}));
  inserted(owner);
  EXPECT_EQ(that_may_go().size(), 2U) << "one that has not ended is none of the past";
}

TEST_F(PastTableTest, StepsThroughOldRunsGoOnWhereTheLastOneWas) {
  const Session owner = created();
  add_runs(owner, 25);
  OldRun last;
  std::vector<std::string> seen;
  while (true) {
    const auto step = store_->past.old_runs(last, 10).value();
    if (step.empty()) break;
    EXPECT_LE(step.size(), 10U);
    for (const auto& run : step) seen.push_back(run.id);
    last = step.back();
  }
  EXPECT_EQ(seen, ids_);
}

TEST_F(PastTableTest, WhatIsDeletedIsNotCountedAnyMore) {
  const Session owner = created();
  add_runs(owner, 3);
  ASSERT_TRUE(
      store_->files.record({owner.id, ids_[0], "/workspace/a", "created", 1, std::nullopt, 1})
          .ok());
  const auto bytes = store_->past.bytes_of_runs().value();
  EXPECT_GT(bytes, 3 * static_cast<std::int64_t>(
                           sandbox::run_to_json(testing::end_at(1'000'000)).dump().size()));
  ASSERT_TRUE(store_->past.delete_runs({ids_[0], ids_[1]}).ok());
  EXPECT_EQ(store_->past.bytes_of_runs().value(), bytes / 3);
  EXPECT_EQ(store_->runs.counts().value().runs["completed"].runs, 1);
  EXPECT_EQ(number_of("SELECT count(*) FROM files"), 0);
  EXPECT_FALSE(store_->runs.find(principal_, ids_[0]).ok());
  EXPECT_TRUE(store_->runs.find(principal_, ids_[2]).ok());
}

TEST_F(PastTableTest, ADeletedSessionIsForgottenInSteps) {
  const Session owner = created();
  const Session other = created();
  add_runs(owner, 150);
  add_runs(owner, 1, false);
  EXPECT_TRUE(store_->past.oldest_deleted(10).value().empty()) << "none is deleted";
  bury(owner);
  ASSERT_EQ(store_->past.oldest_deleted(10).value().size(), 1U);
  EXPECT_EQ(store_->past.count_deleted().value(), 1);
  EXPECT_FALSE(store_->past.forget_some_of(owner.id).value());
  EXPECT_EQ(store_->runs.counts().value().runs["completed"].runs, 51);
  EXPECT_TRUE(store_->past.forget_some_of(owner.id).value());
  EXPECT_FALSE(store_->sessions.is_on_record(owner.id).value());
  EXPECT_EQ(store_->past.count_deleted().value(), 0);
  EXPECT_EQ(number_of("SELECT count(*) FROM runs"), 0);
  EXPECT_EQ(number_of("SELECT count(*) FROM audit WHERE session_id = '" + owner.id + "'"), 0);
  EXPECT_TRUE(store_->sessions.is_live(other.id).value());
  EXPECT_FALSE(store_->audit.of_session(other.id, 10).value().empty());
}

TEST_F(PastTableTest, ADeletedSessionThatHasSharedIsKeptUntilThatIsOver) {
  const Session owner = created();
  Share share;
  share.id = "share";
  share.session_id = owner.id;
  share.principal_id = principal_;
  ASSERT_TRUE(store_->shares.insert(share).ok());
  bury(owner);
  EXPECT_TRUE(store_->past.oldest_deleted(10).value().empty());
  ASSERT_TRUE(store_->shares.remove(share).ok());
  EXPECT_EQ(store_->past.oldest_deleted(10).value().size(), 1U);
}

TEST_F(PastTableTest, AnythingThatGoesWithTimeIsNoticed) {
  const Session owner = created();
  EXPECT_FALSE(store_->past.has_any().value()) << "a session that exists is counted elsewhere";
  const auto run = inserted(owner);
  EXPECT_FALSE(store_->past.has_any().value()) << "it has not ended";
  ASSERT_TRUE(store_->runs.finish(run.id, testing::end_at(7), {}).value());
  EXPECT_TRUE(store_->past.has_any().value());
  ASSERT_TRUE(store_->past.delete_runs({run.id}).ok());
  Share share;
  share.id = "share";
  share.session_id = owner.id;
  share.principal_id = principal_;
  ASSERT_TRUE(store_->shares.insert(share).ok());
  EXPECT_FALSE(store_->past.has_any().value()) << "it stays for ever";
  share.id = "with_an_end";
  share.expires_at = 7;
  ASSERT_TRUE(store_->shares.insert(share).ok());
  EXPECT_TRUE(store_->past.has_any().value());
  ASSERT_TRUE(store_->shares.remove(share).ok());
  EXPECT_FALSE(store_->past.has_any().value());
  bury(owner);
  EXPECT_TRUE(store_->past.has_any().value());
}

TEST_F(PastTableTest, ABurialTakesGrantsJournalsAndTheHostId) {
  const Session owner = created();
  const Session other = created();
  sandbox::JournalEntry entry;
  entry.request.number = 5;
  entry.request.verdict = "allowed";
  entry.end = 10;
  for (const Session& session : {owner, other}) {
    ASSERT_TRUE(store_->network.set_grant(session.id, "a.test", true, 1).ok());
    ASSERT_TRUE(store_->network.take_journal(session.id, 0, {entry}).value());
  }
  bury(owner);
  EXPECT_TRUE(store_->network.grants(owner.id).value().empty());
  EXPECT_EQ(store_->network.journal_taken(owner.id).value(), 0);
  EXPECT_FALSE(row_of(owner).host_uid);
  EXPECT_TRUE(store_->network.request(owner.id, 5).value()) << "the audit stays";
  ASSERT_TRUE(store_->past.set_buried(other.id).ok()) << "which lives";
  EXPECT_EQ(store_->network.grants(other.id).value().size(), 1U);
  EXPECT_EQ(store_->network.journal_taken(other.id).value(), 10);
  EXPECT_TRUE(row_of(other).host_uid);
  EXPECT_TRUE(store_->past.set_buried("nobody").ok());
}

TEST_F(PastTableTest, RunsThatEndedAtOnceAreAllLookedAt) {
  const Session owner = created();
  EXPECT_TRUE(store_->past.old_runs({}, 10).value().empty());
  std::vector<std::string> expected;
  for (int i = 0; i < 5; ++i) {
    expected.push_back(inserted(owner).id);
    ASSERT_TRUE(store_->runs.finish(expected.back(), testing::end_at(7), {}).value());
  }
  std::sort(expected.begin(), expected.end());
  inserted(owner);  // which has not ended
  std::vector<std::string> seen;
  OldRun last;
  for (int step = 0; step < 3; ++step) {
    for (const OldRun& run : store_->past.old_runs(last, 2).value()) {
      EXPECT_EQ(run.session_id, owner.id);
      EXPECT_EQ(run.finished_at, 7);
      seen.push_back(run.id);
      last = run;
    }
  }
  EXPECT_EQ(seen, expected);
}

TEST_F(PastTableTest, AThousandRunsStayThoughAllWereQueuedAtOnce) {
  const Session owner = created();
  execute(
      "WITH RECURSIVE n(v) AS (SELECT 1000 UNION ALL SELECT v + 1 FROM n WHERE v < 2000) "
      "INSERT INTO runs (id, session_id, principal_id, language, status, background, "
      "code_sha256, server_id, queued_at, finished_at, record, was_read) SELECT 'run_' || v, '" +
      owner.id + "', '" + principal_ +
      "', 'bash', 'completed', 0, '', 'server', 7, 9, '{}', 1 FROM n");
  EXPECT_EQ(that_may_go(), std::vector<std::string>{"run_1000"});
}

TEST_F(PastTableTest, ARunOfADeletedSessionMayGoOnceItWasRead) {
  const Session owner = created();
  add_runs(owner, 1);
  add_runs(owner, 1, false);
  EXPECT_TRUE(that_may_go().empty());
  destroy(owner);
  EXPECT_EQ(that_may_go(), std::vector<std::string>{ids_[0]});
}

TEST_F(PastTableTest, ManyRunsAreDeletedAndOthersStay) {
  const Session owner = created();
  add_runs(owner, 20);
  EXPECT_TRUE(store_->past.delete_runs({}).ok());
  std::vector<std::string> ids(ids_.begin(), ids_.end() - 1);
  ids.emplace_back("nobody");
  ASSERT_TRUE(store_->past.delete_runs(ids).ok());
  EXPECT_EQ(ids_in(store_->runs.of_session(owner.id, 100).value()),
            std::vector<std::string>{ids_.back()});
  ASSERT_TRUE(store_->past.delete_runs({ids_.back()}).ok());
  EXPECT_EQ(store_->past.bytes_of_runs().value(), 0);
}

TEST_F(PastTableTest, ALargerRecordTakesAsManyBytesMore) {
  EXPECT_EQ(store_->past.bytes_of_runs().value(), 0);
  const Session owner = created();
  const auto end = [](std::size_t size) {
    return testing::end_at(1, sandbox::RunStatus::kCompleted, std::string(size, 'x'));
  };
  ASSERT_TRUE(store_->runs.finish(inserted(owner).id, end(1), {}).value());
  const std::int64_t one = store_->past.bytes_of_runs().value();
  EXPECT_GT(one, 0);
  const sessions::Run run = inserted(owner);
  EXPECT_EQ(store_->past.bytes_of_runs().value(), one) << "it may take more, and cannot go yet";
  ASSERT_TRUE(store_->runs.finish(run.id, end(1001), {}).value());
  EXPECT_EQ(store_->past.bytes_of_runs().value(), 2 * one + 1000);
  bury(owner);
  EXPECT_LT(store_->past.bytes_of_runs().value(), 2 * one + 1000);
}

TEST_F(PastTableTest, OnlyBuriedSessionsAreTheDeletedOnesTheOldestEndFirst) {
  EXPECT_EQ(store_->past.count_deleted().value(), 0);
  const auto ended = [this](const std::string& id, std::int64_t at) {
    const Session made = created_as([&](Session& wanted) {
      wanted.id = id;
      wanted.status = SessionStatus::kDestroyed;
      wanted.ended_at = at;
    });
    ASSERT_TRUE(store_->past.set_buried(id).ok());
  };
  ended("c", 2);
  ended("b", 2);
  ended("d", 1);
  created();
  destroy(created());
  const Session theirs = created_by("other");
  bury(theirs);
  EXPECT_EQ(ids_in(store_->past.oldest_deleted(10).value()),
            (std::vector<std::string>{"d", "b", "c", theirs.id}));
  EXPECT_EQ(ids_in(store_->past.oldest_deleted(2).value()), (std::vector<std::string>{"d", "b"}));
  EXPECT_EQ(store_->past.count_deleted().value(), 5) << "with the one that is not buried";
}

TEST_F(PastTableTest, ALongAuditIsForgottenInSteps) {
  const Session owner = created();
  const Session other = created();
  const Session buried = created();
  bury(buried);
  for (int i = 0; i < 150; ++i) {
    ASSERT_TRUE(store_->audit.add({1, principal_, owner.id, "network_allowed"}).ok());
  }
  add_runs(other, 1);
  bury(owner);
  EXPECT_FALSE(store_->past.forget_some_of(owner.id).value());
  EXPECT_TRUE(store_->sessions.is_on_record(owner.id).value());
  EXPECT_TRUE(store_->past.forget_some_of(owner.id).value());
  EXPECT_FALSE(store_->sessions.is_on_record(owner.id).value());
  EXPECT_TRUE(store_->audit.of_session(owner.id, 10).value().empty());
  EXPECT_EQ(store_->runs.of_session(other.id, 10).value().size(), 1U);
  EXPECT_TRUE(store_->past.forget_some_of(owner.id).value()) << "it is gone already";
  EXPECT_TRUE(store_->sessions.is_on_record(buried.id).value());
  EXPECT_EQ(store_->audit.of_session(buried.id, 10).value().size(), 2U);
}

TEST_F(PastTableTest, RoomIsGivenBackInSteps) {
  EXPECT_FALSE(store_->past.shrink().value()) << "there is none";
  execute(
      "CREATE TABLE large (content BLOB); INSERT INTO large VALUES (zeroblob(6000000)); "
      "DROP TABLE large");
  ASSERT_GT(number_of("PRAGMA freelist_count"), 1000);
  const std::int64_t before = number_of("PRAGMA page_count");
  EXPECT_TRUE(store_->past.shrink().value()) << "more is left";
  EXPECT_GT(number_of("PRAGMA freelist_count"), 0);
  EXPECT_LT(number_of("PRAGMA page_count"), before);
  EXPECT_FALSE(store_->past.shrink().value());
  EXPECT_EQ(fs::file_size(path() + "-wal"), 0U);
  EXPECT_EQ(number_of("PRAGMA freelist_count"), 0);
}

TEST_F(PastTableTest, WhatWasErasedIsInNoLogThoughThereIsNoRoomToGiveBack) {
  const Session owner = with_env();
  shrink();
  ASSERT_EQ(number_of("PRAGMA freelist_count"), 0);
  EXPECT_GT(secrets_on_disk(), 0U);
  bury(owner);
  EXPECT_GT(fs::file_size(path() + "-wal"), 0U);
  ASSERT_EQ(number_of("PRAGMA freelist_count"), 0);
  EXPECT_FALSE(store_->past.shrink().value());
  EXPECT_EQ(fs::file_size(path() + "-wal"), 0U);
  EXPECT_EQ(secrets_on_disk(), 0U);
}

}  // namespace
}  // namespace sessions
