// A database in a directory of its own, with one principal.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random_id.h"
#include "sessions/principal_table.h"
#include "sessions/run_table.h"
#include "sessions/session_table.h"
#include "sessions/sqlite.h"
#include "sessions/store.h"

namespace sessions::testing {

class StoreFixture : public ::testing::Test {
 protected:
  static constexpr HostUidRange kIds{1'900'000'000, 1000};
  // Takes away what the versions after it have made, but for indexes that a later one leaves as
  // they are.
  static constexpr const char* kBackToVersion15 =
      "DROP TABLE network_shares; DROP TABLE network_journals; "
      "DROP INDEX network_requests_by_principal; DROP INDEX network_requests_open; "
      "ALTER TABLE network_requests DROP COLUMN is_open; "
      "ALTER TABLE network_requests DROP COLUMN more; "
      "ALTER TABLE network_requests DROP COLUMN missing_rule; "
      "ALTER TABLE network_requests DROP COLUMN principal_id; "
      "DROP TABLE upkeep; ALTER TABLE sessions DROP COLUMN boot_id; "
      "ALTER TABLE sessions DROP COLUMN boot_offset_ms; "
      "DROP INDEX sessions_with_box; DROP INDEX runs_unread; DROP INDEX runs_read_later; "
      "DROP INDEX shares_by_session; ALTER TABLE runs DROP COLUMN was_read; "
      "ALTER TABLE sessions DROP COLUMN connection_server; "
      "ALTER TABLE sessions DROP COLUMN working_directory; "
      "ALTER TABLE sessions DROP COLUMN public_ports; "
      "ALTER TABLE sessions DROP COLUMN wakes_by_port; "
      "ALTER TABLE sessions DROP COLUMN pauses_at_end; "
      "ALTER TABLE sessions DROP COLUMN port_host; "
      "DROP TRIGGER runs_come; DROP TRIGGER runs_go; DROP TRIGGER runs_change; "
      "DROP TRIGGER runs_leave; "
      "DROP TRIGGER sessions_come; DROP TRIGGER sessions_go; "
      "DROP TRIGGER sessions_leave; DROP TRIGGER sessions_change; "
      "DROP TABLE run_counts; DROP TABLE session_counts; "
      "DROP INDEX runs_by_principal; DROP INDEX runs_by_end; "
      "DROP INDEX files_by_run; DROP INDEX sessions_by_end; DROP TABLE language_uses; "
      "ALTER TABLE runs DROP COLUMN principal_id; ";

  StoreFixture() : directory_(::testing::TempDir() + "hutch_store_XXXXXX") {
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
    store_ = Store::open(path()).value();
    principal_ = store_->principals.ensure("p").value();
  }
  ~StoreFixture() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string path() const { return directory_ + "/hutch.db"; }

  Session session(const std::string& name = "", const std::string& principal = "") {
    Session wanted;
    wanted.id = base::random_id("session_");
    wanted.principal_id = principal.empty() ? principal_ : principal;
    if (!name.empty()) wanted.name = name;
    wanted.created_at = wanted.last_used_at = base::now_ms();
    return wanted;
  }
  // As E2B's SDKs may want it.
  Session session_of_e2b() {
    Session wanted = session();
    wanted.working_directory = "/home/user";
    wanted.public_ports = true;
    wanted.wakes_by_port = false;
    wanted.pauses_at_end = true;
    wanted.port_host = "localhost";
    return wanted;
  }
  static void expect_of_e2b(const Session& found) {
    EXPECT_EQ(found.working_directory, "/home/user");
    EXPECT_TRUE(found.public_ports && !found.wakes_by_port && found.pauses_at_end);
    EXPECT_EQ(found.port_host, "localhost");
  }
  Session created(const std::string& name = "") {
    return store_->sessions.create(session(name), kIds, 1000).value();
  }
  // Creates one as `change` leaves it: also with a status that others get later.
  Session created_as(const std::function<void(Session&)>& change) {
    Session wanted = session();
    change(wanted);
    return store_->sessions.create(wanted, std::nullopt, 1'000'000).value();
  }
  // Creates one of another principal, who is made when there is none of that name.
  Session created_by(const std::string& principal, const std::string& name = "") {
    const std::string id = store_->principals.ensure(principal).value();
    return store_->sessions.create(session(name, id), kIds, 1000).value();
  }
  void destroy(const Session& session) {
    EXPECT_TRUE(store_->sessions.set_status(session.id, SessionStatus::kDestroyed, "").value());
  }
  Session row_of(const Session& session) {
    return store_->sessions.find(session.principal_id, session.id).value();
  }
  sessions::Run inserted(const Session& owner) {
    sessions::Run run;
    run.id = base::random_id("run_");
    run.session_id = owner.id;
    run.language = "python";
    run.server_id = "server";
    // One after the other, as those of a session are.
    run.queued_at = queued_at_ = std::max(base::now_ms(), queued_at_ + 1);
    EXPECT_TRUE(store_->runs.insert(run).ok());
    return run;
  }
  template <typename Row>
  static std::vector<std::string> ids_in(const std::vector<Row>& rows) {
    std::vector<std::string> ids;
    for (const Row& row : rows) ids.push_back(row.id);
    return ids;
  }

  // These look at the database, and change it, beside the store.
  std::int64_t number_of(const std::string& sql) {
    const auto database = Database::open(path()).value();
    Statement select = database->prepare(sql.c_str()).value();
    EXPECT_TRUE(select.step().value());
    return select.integer();
  }
  void execute(const std::string& sql) {
    const auto done = Database::open(path()).value()->execute(sql);
    EXPECT_TRUE(done.ok()) << done.error().message;
  }

  // Keeps in heard_ what the store tells from now on.
  void listen() {
    store_->watch({}, [this](const Notice& notice) { heard_.push_back(notice); });
  }

  std::string directory_;
  std::unique_ptr<Store> store_;
  std::string principal_;
  std::int64_t queued_at_ = 0;
  std::vector<Notice> heard_;
};

}  // namespace sessions::testing
