// How many sessions and runs there are: counted as they change, and the same as a walk would find.
#include <map>

#include "sessions/past_table.h"
#include "sessions/run_table.h"
#include "sessions/session.h"
#include "sessions/session_table.h"
#include "sessions/spare_table.h"
#include "sessions/sqlite.h"
#include "tests/unit/sessions/store_fixture.h"

namespace {

using namespace sessions;

class CountsTest : public sessions::testing::StoreFixture {
 protected:
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

TEST_F(CountsTest, AreWhatAWalkWouldFind) {
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
  ASSERT_TRUE(store_->runs.finish(done.id, "failed", done.queued_at + 250, "{}", {}).value());
  EXPECT_FALSE(store_->runs.finish(done.id, "completed", done.queued_at, "{}", {}).value());
  expect_right("one has ended");
  EXPECT_EQ(store_->runs.counts().value().runs.at("failed").milliseconds, 250);
  ASSERT_TRUE(store_->sessions.set_status(one.id, SessionStatus::kReady, "").value());
  ASSERT_TRUE(store_->sessions.set_status(one.id, SessionStatus::kDestroyed, "asked").value());
  ASSERT_TRUE(store_->past.set_buried(one.id).ok());
  ASSERT_TRUE(store_->runs.finish(queued.id, "cancelled", queued.queued_at + 1, "{}", {}).value());
  expect_right("buried");
  // Rows may go one day.
  const auto database = Database::open(path()).value();
  ASSERT_TRUE(database->execute("DELETE FROM runs; DELETE FROM sessions").ok());
  expect_right("all are gone");
  EXPECT_TRUE(store_->runs.counts().value().runs.empty());
}

TEST_F(CountsTest, AreMadeForADatabaseThatHasNone) {
  const Session one = created();
  const auto run = inserted(one);
  ASSERT_TRUE(store_->runs.finish(run.id, "completed", run.queued_at + 7, "{}", {}).value());
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
}

}  // namespace
