// What is left of a session that was deleted, and how large the database is then.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sandbox/run.h"
#include "sessions/file_table.h"
#include "sessions/migrations.h"
#include "sessions/past_table.h"
#include "sessions/run_table.h"
#include "sessions/session_lists.h"
#include "sessions/session_table.h"
#include "sessions/sqlite.h"
#include "tests/unit/sessions/store_fixture.h"

namespace {

using namespace sessions;
using nlohmann::json;
namespace fs = std::filesystem;

// In nothing that is not user data.
constexpr const char* kSecret = "marmalade";

class BurialTest : public sessions::testing::StoreFixture {
 protected:
  bool finish(const sessions::Run& row, std::size_t bytes = 100) {
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
    return store_->runs
        .finish(row.id, "failed", run.finished_at_ms, sandbox::run_to_json(run).dump(), {file})
        .value();
  }

  Session with_env() {
    Session wanted = session();
    wanted.env = {{"TOKEN", kSecret}};
    return store_->sessions.create(wanted, std::nullopt, 1000).value();
  }

  void destroy(const Session& owner) {
    EXPECT_TRUE(store_->sessions.set_status(owner.id, SessionStatus::kDestroyed, "").value());
    ASSERT_TRUE(store_->past.set_buried(owner.id).ok());
  }

  void shrink() {
    while (store_->past.shrink().value()) {
    }
  }

  std::int64_t number(const char* sql) {
    const auto database = Database::open(path()).value();
    Statement select = database->prepare(sql).value();
    EXPECT_TRUE(select.step().value());
    return select.integer();
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
};

TEST_F(BurialTest, OfItsRunsStaysHowAndWhenTheyEnded) {
  const Session owner = with_env();
  const auto run = inserted(owner);
  ASSERT_TRUE(finish(run));
  destroy(owner);
  const auto kept = store_->runs.find(principal_, run.id).value();
  EXPECT_EQ(kept.status, "failed");
  EXPECT_EQ(kept.record->find(kSecret), std::string::npos) << *kept.record;
  const auto shown = sandbox::run_from_json(json::parse(*kept.record)).value();
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
  EXPECT_EQ(number("SELECT count(*) FROM files"), 0);
}

TEST_F(BurialTest, OthersAreLeftAlone) {
  const Session owner = with_env();
  const Session other = with_env();
  const auto run = inserted(other);
  ASSERT_TRUE(finish(run));
  destroy(owner);
  // Not one that is alive, whatever is asked.
  ASSERT_TRUE(store_->past.set_buried(other.id).ok());
  EXPECT_NE(store_->runs.find(principal_, run.id).value().record->find(kSecret), std::string::npos);
  EXPECT_EQ(store_->sessions.find(principal_, other.id).value().env, other.env);
  EXPECT_EQ(number("SELECT count(*) FROM files"), 1);
}

TEST_F(BurialTest, WhatComesLateIsNotKept) {
  const Session owner = with_env();
  const auto run = inserted(owner);
  destroy(owner);
  EXPECT_TRUE(finish(run));
  EXPECT_EQ(store_->runs.find(principal_, run.id).value().record->find(kSecret), std::string::npos);
  EXPECT_FALSE(finish(run)) << "the first one wins";
  ASSERT_TRUE(store_->files.record({owner.id, std::nullopt, "/a", "created", 1, "", 1}).ok());
  EXPECT_EQ(number("SELECT count(*) FROM files"), 0);
}

TEST_F(BurialTest, WhoeverWasKilledInBetweenIsFinishedByTheNext) {
  const Session owner = with_env();
  constexpr int kRuns = 30;  // more than one transaction has
  for (int i = 0; i < kRuns; ++i) ASSERT_TRUE(finish(inserted(owner)));
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
  EXPECT_EQ(number("SELECT count(*) FROM runs WHERE json_valid(record)"), kRuns);
}

TEST_F(BurialTest, TheFileShrinksAndNothingIsLeftInIt) {
  const Session owner = with_env();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(finish(inserted(owner), 2'000'000));
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(finish(inserted(owner), 1000));
  shrink();
  const auto before = fs::file_size(path());
  EXPECT_GT(before, 10'000'000U);
  EXPECT_GT(secrets_on_disk(), 0U);
  destroy(owner);
  shrink();
  EXPECT_LT(fs::file_size(path()), before / 5) << "some 800 bytes for each run";
  EXPECT_EQ(fs::file_size(path() + "-wal"), 0U);
  EXPECT_EQ(secrets_on_disk(), 0U);
}

TEST_F(BurialTest, AnOlderDatabaseIsCleanedAndShrinksToo) {
  const Session owner = with_env();
  const auto run = inserted(owner);
  ASSERT_TRUE(finish(run, 2'000'000));
  destroy(owner);
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
  ASSERT_EQ(number("PRAGMA auto_vacuum"), 0);
  store_ = Store::open(path()).value();
  EXPECT_EQ(number("PRAGMA auto_vacuum"), 2);
  for (const Session& session : store_->session_lists.unburied().value()) {
    ASSERT_TRUE(store_->past.set_buried(session.id).ok());
  }
  shrink();
  EXPECT_EQ(secrets_on_disk(), 0U);
  EXPECT_LT(fs::file_size(path()), 1'000'000U);
  EXPECT_EQ(store_->runs.find(principal_, run.id).value().status, "failed");
}

TEST_F(BurialTest, AnOlderDatabaseThatOthersHaveOpenStaysAsItIs) {
  store_.reset();
  {
    const auto database = Database::open(path()).value();
    ASSERT_TRUE(database->execute("PRAGMA auto_vacuum = NONE; VACUUM").ok());
  }
  // As a server of the same version that was started when another had it open.
  const auto lock = base::open_file(AT_FDCWD, path() + ".lock", O_RDWR).value();
  ASSERT_EQ(::flock(lock.get(), LOCK_SH), 0);
  EXPECT_TRUE(Store::open(path()).ok());
  EXPECT_EQ(number("PRAGMA auto_vacuum"), 0);
  ASSERT_EQ(::flock(lock.get(), LOCK_UN), 0);
  store_ = Store::open(path()).value();
  EXPECT_EQ(number("PRAGMA auto_vacuum"), 2);
}

}  // namespace
