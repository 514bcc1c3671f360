// What the store does for a session costs the same however many were deleted before.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <functional>

#include "tests/unit/sessions/store_fixture.h"

namespace {

using namespace sessions;

constexpr int kStepsEach = 10;  // instructions of SQLite's machine between two calls
std::int64_t steps = 0;         // since the last look, of all connections

int count_steps(void* /*unused*/) {
  steps += kStepsEach;
  return 0;
}

int count_on(sqlite3* connection, const char** /*error*/, const void* /*api*/) {
  ::sqlite3_progress_handler(connection, kStepsEach, count_steps, nullptr);
  return SQLITE_OK;
}

// Connections that are opened while it lives are counted.
class Counted {
 public:
  Counted() { ::sqlite3_auto_extension(as_extension()); }
  ~Counted() { ::sqlite3_cancel_auto_extension(as_extension()); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  using Extension = void (*)();
  static Extension as_extension() { return reinterpret_cast<Extension>(count_on); }
};

class GrowthTest : public Counted, public sessions::testing::StoreFixture {
 protected:
  static std::int64_t cost_of(const std::function<void()>& work) {
    work();  // what is prepared once
    steps = 0;
    work();
    return steps;
  }

  void delete_many() {
    const auto file = Database::open(path()).value();
    const std::string row =
        "INSERT INTO sessions (id, principal_id, template, status, ends_with_connection, limits, "
        "env, idle_seconds, retention_seconds, created_at, last_used_at, ended_at, buried) "
        "SELECT 'old_' || value, '" +
        principal_ + "', 'host', 'destroyed', 0, '{}', '{}', 600, 600, value, value, value, 1 " +
        "FROM generated";
    const std::string runs =
        "INSERT INTO runs (id, session_id, principal_id, language, status, background, "
        "code_sha256, server_id, queued_at, finished_at, record, was_read) "
        "SELECT 'run_' || value, 'old_' || value, '" +
        principal_ + "', 'python', 'completed', 0, '', 'server', value, value, '{}', 1 " +
        "FROM generated";
    const std::string numbers =
        "WITH RECURSIVE generated(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM generated "
        "WHERE value < 5000) ";
    ASSERT_TRUE(file->execute(numbers + row).ok());
    ASSERT_TRUE(file->execute(numbers + runs).ok());
  }

  // To be the same among thousands of deleted ones, which compare() makes.
  void expect_same_cost(const char* what, const std::function<void()>& work) {
    costs_.push_back({what, work, cost_of(work)});
  }

  void compare() {
    delete_many();
    for (const auto& [what, work, before] : costs_) {
      EXPECT_GT(before, 0) << what;
      EXPECT_LE(cost_of(work), 2 * before + 100) << what << ": before " << before;
    }
  }

 private:
  struct Cost {
    const char* what;
    std::function<void()> work;
    std::int64_t before;
  };
  std::vector<Cost> costs_;
};

TEST_F(GrowthTest, WhatIsAskedOfTheLivingDoesNotLookAtTheDeleted) {
  const Session one = created("one");
  for (int i = 0; i < 5; ++i) created();
  Store& store = *store_;
  expect_same_cost("create_session", [&] { created(); });
  expect_same_cost("list_sessions",
                   [&] { EXPECT_TRUE(store.newest_sessions(principal_, false, 5).ok()); });
  expect_same_cost("the sweep's living", [&] { EXPECT_TRUE(store.live_sessions().ok()); });
  expect_same_cost("the sweep's deleted", [&] { EXPECT_TRUE(store.unburied_sessions().ok()); });
  expect_same_cost("unasked ones", [&] { EXPECT_TRUE(store.unasked_sessions(principal_).ok()); });
  expect_same_cost("one by its name",
                   [&] { EXPECT_TRUE(store.find_session(principal_, "one").ok()); });
  expect_same_cost("unfinished runs", [&] { EXPECT_TRUE(store.unfinished_runs(one.id).ok()); });
  expect_same_cost("how many there are", [&] { EXPECT_TRUE(store.counts().ok()); });
  compare();
}

// What a server is asked for all the time, with many runs of the past in a session that goes on.
TEST_F(GrowthTest, WhatIsAskedOfAllDoesNotLookAtEachRun) {
  const Session one = created("one");
  for (int i = 0; i < 5; ++i) created();
  Store& store = *store_;
  const sessions::Run run = inserted(one);
  expect_same_cost("create_session", [&] { created(); });
  expect_same_cost("insert_run", [&] { inserted(one); });
  expect_same_cost("metrics of runs", [&] { EXPECT_TRUE(store.counts().ok()); });
  expect_same_cost("the newest runs of all",
                   [&] { EXPECT_TRUE(store.newest_runs(principal_, 0, 5).ok()); });
  expect_same_cost("those of a session",
                   [&] { EXPECT_TRUE(store.runs_of_session(one.id, 5).ok()); });
  expect_same_cost("one run", [&] { EXPECT_TRUE(store.find_run(principal_, run.id).ok()); });
  expect_same_cost("its audit", [&] { EXPECT_TRUE(store.audit_of_session(one.id, 5).ok()); });
  expect_same_cost("that of the network", [&] { EXPECT_TRUE(store.network_requests({}).ok()); });
  expect_same_cost("what it leaves", [&] { EXPECT_TRUE(store.session_has_traces(one.id).ok()); });
  expect_same_cost("what runs take", [&] { EXPECT_TRUE(store.bytes_of_runs().ok()); });
  compare();
  EXPECT_EQ(store.counts().value().runs["completed"].runs, 5000);
  const auto file = Database::open(path()).value();
  ASSERT_TRUE(
      file->execute("UPDATE runs SET session_id = '" + one.id + "' WHERE session_id LIKE 'old_%'")
          .ok());
  EXPECT_LT(cost_of([&] { EXPECT_TRUE(store.runs_of_session(one.id, 5).ok()); }), 1000);
  EXPECT_LT(cost_of([&] { EXPECT_TRUE(store.old_runs({}, 10).ok()); }), 30'000)
      << "the newest of a session are counted once";
}

}  // namespace
