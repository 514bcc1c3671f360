// Tests that the store's work for a session costs the same however many were deleted before, and
// however much others have.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "sessions/audit_table.h"
#include "sessions/file_table.h"
#include "sessions/network_table.h"
#include "sessions/past_table.h"
#include "sessions/principal_table.h"
#include "sessions/run_table.h"
#include "sessions/session_lists.h"
#include "sessions/session_table.h"
#include "sessions/share_table.h"
#include "sessions/sqlite.h"
#include "sessions/store.h"
#include "sessions/store_file.h"
#include "sessions/token_table.h"
#include "tests/unit/sessions/store_fixture.h"

namespace {

using namespace sessions;

constexpr int kStepsEach = 10;  // instructions of SQLite's machine between two calls
std::int64_t all_steps = 0;     // since the last look, of all connections
std::int64_t steps_before = 0;  // this statement, and
std::int64_t most_in_one = 0;   // in one statement

int count_steps(void* /*unused*/) {
  all_steps += kStepsEach;
  return 0;
}

int end_statement(unsigned /*what*/, void* /*unused*/, void* /*unused*/, void* /*unused*/) {
  most_in_one = std::max(most_in_one, all_steps - std::exchange(steps_before, all_steps));
  return 0;
}

int count_on(sqlite3* connection, const char** /*error*/, const void* /*api*/) {
  ::sqlite3_progress_handler(connection, kStepsEach, count_steps, nullptr);
  ::sqlite3_trace_v2(connection, SQLITE_TRACE_PROFILE, end_statement, nullptr);
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
  inline static const std::string kNumbers =
      "WITH RECURSIVE generated(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM generated "
      "WHERE value < 5000) ";

  // It has ended, and its end was read: nothing is left of it that a session would be kept for.
  sessions::Run ended(const Session& owner) {
    const sessions::Run run = inserted(owner);
    execute(
        "UPDATE runs SET status = 'completed', finished_at = queued_at, was_read = 1 WHERE id "
        "= '" +
        run.id + "'");
    return run;
  }

  // Adds entries of one session, refused where `verdict` says so.
  void fill_audit(const std::string& session_id, const std::string& principal,
                  const std::string& verdict) {
    const auto file = Database::open(path()).value();
    const std::string rows =
        "INSERT INTO network_requests (session_id, number, principal_id, verdict, host, port, "
        "method, path, status, reason, credential, sent_bytes, received_bytes, ms) SELECT '" +
        session_id + "', 1000000 + value, '" + principal + "', '" + verdict +
        "', 'a.test', 443, '', '', 0, '', '', 0, 0, 0 FROM generated";
    ASSERT_TRUE(file->execute(kNumbers + rows).ok());
  }
  void ask_network(const Session& session, std::int64_t number, const std::string& verdict) {
    sandbox::JournalEntry entry;
    const std::int64_t taken = store_->network.journal_taken(session.id).value();
    entry.request.number = number;
    entry.request.verdict = verdict;
    entry.end = taken + 1;
    ASSERT_TRUE(store_->network.take_journal(session.id, taken, {entry}).value());
  }
  void expect_audit_at_same_cost(const Session& session) {
    const auto expect = [&](const char* what, const RequestsWanted& wanted, std::size_t count) {
      expect_same_cost(what, [this, wanted, count] {
        EXPECT_EQ(store_->network.requests(wanted).value().size(), count);
      });
    };
    expect("its audit of the network", {.session = session.id}, 2);
    expect("that by its name", {.session = *session.name}, 2);
    expect("what it was refused", {.session = session.id, .refused_only = true}, 1);
    expect("what all were refused", {.session = "", .refused_only = true}, 1);
  }
  void expect_room_at_same_cost() {
    Store& store = *store_;
    expect_same_cost("sessions with a box",
                     [&] { EXPECT_TRUE(store.session_lists.with_box(principal_).ok()); });
    expect_same_cost("how many it keeps",
                     [&] { EXPECT_TRUE(store.session_lists.count_kept(principal_).ok()); });
    expect_same_cost("room for one more", [&] {
      const SessionBounds bounds(1'000'000, 1'000'000);
      EXPECT_TRUE(store.sessions.create(session(), std::nullopt, bounds).ok());
    });
    expect_same_cost("unnamed ones",
                     [&] { EXPECT_TRUE(store.session_lists.unnamed(principal_, {}, 5).ok()); });
    expect_same_cost("some places",
                     [&] { EXPECT_TRUE(store.session_lists.places(principal_, {}, 5).ok()); });
    expect_same_cost("the oldest",
                     [&] { EXPECT_TRUE(store.session_lists.oldest(principal_, 5).ok()); });
  }

  static std::int64_t cost_of(const std::function<void()>& work) {
    work();  // some of it is prepared once
    all_steps = steps_before = 0;
    work();
    return all_steps;
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
    ASSERT_TRUE(file->execute(kNumbers + row).ok());
    ASSERT_TRUE(file->execute(kNumbers + runs).ok());
  }

  // To be the same among thousands of deleted ones, which compare() makes.
  void expect_same_cost(const char* what, const std::function<void()>& work) {
    costs_.push_back({what, work, cost_of(work)});
  }

  // Makes many things of another principal, and of one of its sessions.
  void make_many_of_another() {
    const std::string other = store_->principals.ensure("other").value();
    const auto file = Database::open(path()).value();
    const std::string each = " FROM generated";
    for (const std::string& row : {
             "INSERT INTO sessions (id, principal_id, name, template, status, "
             "ends_with_connection, limits, env, idle_seconds, retention_seconds, created_at, "
             "last_used_at, unasked) SELECT 'its_' || value, '" +
                 other +
                 "', 'name_' || value, 'host', 'stopped', 0, '{}', '{}', 600, 600, value, value, "
                 "1" +
                 each,
             "INSERT INTO runs (id, session_id, principal_id, language, status, background, "
             "code_sha256, server_id, queued_at) SELECT 'run_' || value, 'its_1', '" +
                 other + "', 'python', 'running', 0, '', 'server', value" + each,
             "INSERT INTO files SELECT 10000 + value, 'its_1', 'run_' || value, 'a' || (value % "
             "7), "
             "'modified', 1, NULL, value" +
                 each,
             "INSERT INTO shares SELECT 'share_' || value, 'its_1', '" + other +
                 "', '', '', 1, '', '', value, 9000000000000000" + each,
             "INSERT INTO tokens SELECT 'token_' || value, '" + other +
                 "', 'token_of_' || value, '', '', value, NULL, NULL, value" + each,
             "INSERT INTO network_days SELECT '" + other + "', 20000 + value, 1" + each,
         }) {
      ASSERT_TRUE(file->execute(kNumbers + row).ok()) << row;
    }
  }

  void compare(const std::function<void()>& make_many) {
    make_many();
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
                   [&] { EXPECT_TRUE(store.session_lists.newest(principal_, false, 5).ok()); });
  expect_same_cost("the sweep's living", [&] { EXPECT_TRUE(store.session_lists.live().ok()); });
  expect_same_cost("the sweep's deleted",
                   [&] { EXPECT_TRUE(store.session_lists.unburied().ok()); });
  expect_same_cost("unasked ones",
                   [&] { EXPECT_TRUE(store.session_lists.unasked(principal_).ok()); });
  expect_same_cost("one by its name",
                   [&] { EXPECT_TRUE(store.sessions.find(principal_, "one").ok()); });
  expect_same_cost("unfinished runs", [&] { EXPECT_TRUE(store.runs.unfinished(one.id).ok()); });
  expect_same_cost("how many there are", [&] { EXPECT_TRUE(store.runs.counts().ok()); });
  expect_same_cost("busy ones", [&] { EXPECT_TRUE(store.runs.busy_sessions().ok()); });
  expect_room_at_same_cost();
  compare([this] { delete_many(); });
}

TEST_F(GrowthTest, WhatIsAskedOfOneDoesNotLookAtAnothers) {
  const Session one = created("one");
  const Session old = created("old");
  const auto run = inserted(one);
  Store& store = *store_;
  ASSERT_TRUE(store.sessions.set_status(old.id, SessionStatus::kDestroyed, "").value());
  ASSERT_TRUE(store.files.record({one.id, run.id, "a1", "created", 1, std::nullopt, 1}).ok());
  Share share;
  share.session_id = one.id;
  share.principal_id = principal_;
  share.expires_at = base::now_ms() + 1'000'000'000;
  expect_same_cost("create_session", [&] { created(); });
  expect_same_cost("list_sessions",
                   [&] { EXPECT_TRUE(store.session_lists.newest(principal_, false, 5).ok()); });
  expect_same_cost("the sweep's deleted",
                   [&] { EXPECT_TRUE(store.session_lists.unburied().ok()); });
  expect_same_cost("a burial", [&] { EXPECT_TRUE(store.past.set_buried(old.id).ok()); });
  expect_same_cost("unasked ones",
                   [&] { EXPECT_TRUE(store.session_lists.unasked(principal_).ok()); });
  expect_same_cost("one by its name",
                   [&] { EXPECT_TRUE(store.sessions.find(principal_, "one").ok()); });
  expect_same_cost("a run begins", [&] { inserted(one); });
  expect_same_cost("a run's look", [&] { EXPECT_TRUE(store.runs.find(principal_, run.id).ok()); });
  expect_same_cost("a session's runs",
                   [&] { EXPECT_TRUE(store.runs.of_session(one.id, 20).ok()); });
  expect_same_cost("a principal's runs",
                   [&] { EXPECT_TRUE(store.runs.newest(principal_, {}, 20).ok()); });
  expect_same_cost("unfinished runs", [&] { EXPECT_TRUE(store.runs.unfinished(one.id).ok()); });
  expect_same_cost("how files have changed", [&] {
    EXPECT_EQ(store.files.changes(one.id, 0, {"a1", "a2"}).value().size(), 1U);
  });
  expect_same_cost("a share", [&] {
    share.id = base::random_id("share_");
    EXPECT_TRUE(store.shares.insert(share).ok());
    EXPECT_TRUE(store.shares.remove(share).ok());
  });
  expect_same_cost("a principal's shares",
                   [&] { EXPECT_TRUE(store.shares.list(principal_).ok()); });
  expect_same_cost("what a principal shares",
                   [&] { EXPECT_TRUE(store.shares.shared_by(principal_, 10'000).ok()); });
  expect_same_cost("a session's shares",
                   [&] { EXPECT_TRUE(store.shares.of_session(one.id).ok()); });
  expect_same_cost("the sweep's shares",
                   [&] { EXPECT_TRUE(store.shares.expired(base::now_ms()).ok()); });
  expect_same_cost("tokens", [&] { EXPECT_TRUE(store.tokens.list().ok()); });
  expect_same_cost("a token by its name",
                   [&] { EXPECT_FALSE(store.tokens.revoke("nobody's", 1).ok()); });
  const Session read = created("read");
  ended(read);
  expect_same_cost("what it leaves", [&] {
    EXPECT_FALSE(store.sessions.has_traces(read.id, base::now_ms()).value());
  });
  ask_network(one, 1, "allowed");
  ask_network(one, 2, "refused");
  expect_audit_at_same_cost(one);
  expect_room_at_same_cost();
  compare([this] {
    make_many_of_another();
    fill_audit("its_1", store_->principals.ensure("other").value(), "allowed");
  });
}

// A session's own: what is wanted of it alone is looked at, however much there is.
TEST_F(GrowthTest, WhatIsAskedOfASessionDoesNotLookAtAllOfIt) {
  const Session one = created("one");
  const Session read = created("read");
  Store& store = *store_;
  const auto run = inserted(one);
  ended(read);
  EXPECT_TRUE(store.files.record({one.id, run.id, "a1", "created", 1, std::nullopt, 1}).ok());
  const auto fill = [&](const char* rows) {
    const auto file = Database::open(path()).value();
    const std::string insert = std::string("INSERT INTO ") + rows;
    ASSERT_TRUE(file->execute(kNumbers + insert + " FROM generated").ok()) << rows;
  };
  for (int i = 0; i < 50; ++i) inserted(one);
  expect_same_cost("how a file has changed", [&] {
    EXPECT_EQ(store.files.changes(one.id, 0, {"a1"}).value()["a1"], "created");
  });
  expect_same_cost("the newest runs",
                   [&] { EXPECT_TRUE(store.runs.newest(principal_, {}, 20).ok()); });
  expect_same_cost("a session's newest runs",
                   [&] { EXPECT_TRUE(store.runs.of_session(one.id, 20).ok()); });
  expect_same_cost("its unfinished runs", [&] { EXPECT_TRUE(store.runs.unfinished(one.id).ok()); });
  expect_same_cost("what it leaves", [&] {
    EXPECT_FALSE(store.sessions.has_traces(read.id, base::now_ms()).value());
  });
  expect_same_cost("its audit", [&] { EXPECT_TRUE(store.audit.of_session(one.id, 5).ok()); });
  expect_same_cost("a run begins", [&] { inserted(one); });
  ask_network(one, 1, "refused");
  ask_network(one, 2, "allowed");
  ask_network(one, 3, "allowed");
  const RequestsWanted refused{.session = one.id, .refused_only = true};
  expect_same_cost("what it was refused",
                   [&] { EXPECT_EQ(store.network.requests(refused).value().size(), 1U); });
  expect_same_cost("its newest requests", [&] {
    EXPECT_EQ(store.network.requests({.session = one.id, .limit = 3}).value().size(), 3U);
  });
  compare([&] {
    fill_audit(one.id, principal_, "allowed");
    fill(("runs (id, session_id, principal_id, language, status, background, code_sha256, "
          "server_id, queued_at, finished_at, record, was_read) SELECT 'read_' || value, '" +
          read.id + "', '" + principal_ +
          "', 'python', 'completed', 0, '', 'server', value, value, '{}', 1")
             .c_str());
    fill(("files SELECT value + 10, '" + one.id + "', NULL, 'a1', 'modified', 1, NULL, value + 10")
             .c_str());
    fill(("runs (id, session_id, principal_id, language, status, background, code_sha256, "
          "server_id, queued_at, finished_at, record) SELECT 'run_' || value, '" +
          one.id + "', '" + principal_ +
          "', 'python', 'completed', 0, '', 'server', value, value, '{}'")
             .c_str());
  });
}

// A walk that is long ends nobody's turn: each step lets others in, and does not do more than so
// much.
TEST_F(GrowthTest, ALongWalkHasManySteps) {
  const Session one = created();
  delete_many();
  Store& store = *store_;
  const auto all = store.session_lists.live();
  EXPECT_EQ(all.value().size(), 1U);
  const auto file = Database::open(path()).value();
  const std::string rows =
      "INSERT INTO files SELECT value, 'old_1', NULL, 'a' || value, 'created', "
      "1, NULL, value FROM generated";
  ASSERT_TRUE(file->execute(kNumbers + rows).ok());
  ASSERT_TRUE(file->execute("UPDATE sessions SET buried = 0 WHERE id = 'old_1'").ok());
  most_in_one = 0;
  ASSERT_TRUE(store.past.set_buried("old_1").ok());
  EXPECT_EQ(store.session_lists.unburied().value().size(), 0U);
  EXPECT_GT(most_in_one, 0);
  EXPECT_LT(most_in_one, 200 * kRowsAtOnce);
}

// A server is asked for these all the time, with many runs of the past in a session that goes on.
TEST_F(GrowthTest, WhatIsAskedOfAllDoesNotLookAtEachRun) {
  const Session one = created("one");
  for (int i = 0; i < 5; ++i) created();
  Store& store = *store_;
  const sessions::Run run = inserted(one);
  expect_same_cost("create_session", [&] { created(); });
  expect_same_cost("insert_run", [&] { inserted(one); });
  expect_same_cost("metrics of runs", [&] { EXPECT_TRUE(store.runs.counts().ok()); });
  expect_same_cost("the newest runs of all",
                   [&] { EXPECT_TRUE(store.runs.newest(principal_, {}, 5).ok()); });
  expect_same_cost("those of a session",
                   [&] { EXPECT_TRUE(store.runs.of_session(one.id, 5).ok()); });
  expect_same_cost("one run", [&] { EXPECT_TRUE(store.runs.find(principal_, run.id).ok()); });
  expect_same_cost("its audit", [&] { EXPECT_TRUE(store.audit.of_session(one.id, 5).ok()); });
  expect_same_cost("that of the network", [&] { EXPECT_TRUE(store.network.requests({}).ok()); });
  const Session read = created("read");
  ended(read);
  expect_same_cost("what it leaves", [&] {
    EXPECT_FALSE(store.sessions.has_traces(read.id, base::now_ms()).value());
  });
  expect_same_cost("busy ones", [&] { EXPECT_EQ(store.runs.busy_sessions().value().size(), 1U); });
  expect_same_cost("what runs take", [&] { EXPECT_TRUE(store.past.bytes_of_runs().ok()); });
  expect_same_cost("what each one's take",
                   [&] { EXPECT_TRUE(store.past.runs_of_principals().ok()); });
  expect_same_cost("how many each one deleted",
                   [&] { EXPECT_TRUE(store.past.deleted_of_principals().ok()); });
  compare([this] { delete_many(); });
  EXPECT_EQ(store.runs.counts().value().runs["completed"].runs, 5001);
  const auto file = Database::open(path()).value();
  ASSERT_TRUE(
      file->execute("UPDATE runs SET session_id = '" + one.id + "' WHERE session_id LIKE 'old_%'")
          .ok());
  EXPECT_LT(cost_of([&] { EXPECT_TRUE(store.runs.of_session(one.id, 5).ok()); }), 1000);
  EXPECT_LT(cost_of([&] { EXPECT_TRUE(store.past.old_runs({}, 10).ok()); }), 30'000)
      << "the newest of a session are counted once";
  EXPECT_LT(cost_of([&] { EXPECT_TRUE(store.past.old_runs_of(principal_, {}, 10, 1 << 30).ok()); }),
            30'000)
      << "one's own as well";
  EXPECT_LT(
      cost_of([&] { EXPECT_EQ(store.past.oldest_deleted_of(principal_, 10).value().size(), 10U); }),
      5000);
  EXPECT_LT(cost_of([&] { EXPECT_TRUE(store.past.old_runs({}, 100, 1).ok()); }), 1000)
      << "where none is old enough, no session is looked at";
}

// A question about all of a principal's own has the bound of these, kept_sessions_max, and looks at
// each of them once.
TEST_F(GrowthTest, WhatIsAskedOfAPrincipalsOwnIsBoundedByTheirNumber) {
  constexpr std::int64_t kOwn = 5000;
  constexpr std::int64_t kStepsForEach = 30;
  created("one");
  Store& store = *store_;
  expect_same_cost("sessions with a box",
                   [&] { EXPECT_EQ(store.session_lists.with_box(principal_).value().size(), 1U); });
  expect_same_cost("the oldest",
                   [&] { EXPECT_TRUE(store.session_lists.oldest(principal_, 1).ok()); });
  expect_same_cost("the newest",
                   [&] { EXPECT_TRUE(store.session_lists.newest(principal_, false, 1).ok()); });
  compare([&] {
    const auto file = Database::open(path()).value();
    const std::string rows =
        "INSERT INTO sessions (id, principal_id, name, template, status, ends_with_connection, "
        "limits, env, idle_seconds, retention_seconds, created_at, last_used_at) SELECT 'own_' || "
        "value, '" +
        principal_ +
        "', 'own_' || value, 'host', 'stopped', 0, '{}', '{}', 600, 600, value, value FROM "
        "generated";
    ASSERT_TRUE(file->execute(kNumbers + rows).ok());
  });
  const SessionBounds bounds(1'000'000, 1'000'000);
  EXPECT_LT(
      cost_of([&] { EXPECT_TRUE(store.sessions.create(session(), std::nullopt, bounds).ok()); }),
      kOwn * kStepsForEach);
  EXPECT_LT(cost_of([&] { EXPECT_TRUE(store.session_lists.count_kept(principal_).ok()); }),
            kOwn * kStepsForEach);
  EXPECT_LT(cost_of([&] { EXPECT_TRUE(store.session_lists.unnamed(principal_, {}, 1).ok()); }),
            kOwn * kStepsForEach);
}

TEST_F(GrowthTest, RequestsThatMakeWayCostTheSameHoweverManyThereAre) {
  const Session one = created();
  std::int64_t number = 0;
  const auto add = [&](std::int64_t count, std::int64_t most) {
    std::vector<sandbox::JournalEntry> entries(static_cast<std::size_t>(count));
    const std::int64_t taken = store_->network.journal_taken(one.id).value();
    for (sandbox::JournalEntry& entry : entries) {
      entry.request.number = ++number;
      entry.request.verdict = "allowed";
      entry.end = taken + number;
    }
    EXPECT_TRUE(store_->network.take_journal(one.id, taken, entries, most).value());
  };
  add(100, 100);
  const std::int64_t before = cost_of([&] { add(10, 100); });
  add(5'000, 5'000);
  EXPECT_LE(cost_of([&] { add(10, 5'000); }), 2 * before + 100);
}

}  // namespace
