// Tests what lists read: as much as they show, however much there is.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/clock.h"
#include "base/random_id.h"
#include "mcp/changes.h"
#include "sessions/manager.h"
#include "sessions/principal_table.h"
#include "sessions/run_table.h"
#include "sessions/session.h"
#include "sessions/session_table.h"
#include "sessions/sqlite.h"
#include "sessions/store.h"
#include "tests/unit/sessions/run_ends.h"
#include "tests/unit/tools/tools_fixture.h"
#include "tools/mcp/change_watch.h"
#include "tools/mcp/run_tasks.h"

namespace {

class ListingsTest : public tools::fake::ToolsFixture {
 protected:
  std::string made_session() {
    sessions::Session session;
    session.id = base::random_id("session_");
    session.principal_id = principal_;
    session.created_at = session.last_used_at = base::now_ms();
    return store_->sessions.create(session, std::nullopt, 10'000).value().id;
  }

  // Makes one that has ended.
  std::string made_run(const std::string& session_id, std::int64_t queued_at) {
    sessions::Run run;
    run.id = base::random_id("run_");
    run.session_id = session_id;
    run.language = "python";
    run.queued_at = queued_at;
    EXPECT_TRUE(store_->runs.insert(run).ok());
    EXPECT_TRUE(store_->runs.finish(run.id, sessions::testing::end_at(queued_at + 5), {}).value());
    return run.id;
  }

  const std::string principal_ = store_->principals.ensure("p").value();
};

TEST_F(ListingsTest, TasksComeInPagesWithoutTheirRecords) {
  mcp::Changes changes;
  const tools::Services services{manager_->services(), *share_, ""};
  tools::ChangeWatch watch(services, changes);
  tools::RunTasks tasks(services, watch);
  constexpr std::int64_t kRuns = 150;
  std::set<std::string> made;
  for (std::int64_t i = 0; i < kRuns; ++i) {
    const std::string session = made_session();
    made.insert(made_run(session, 1000 + i));
    if (i % 2 == 0) {
      ASSERT_TRUE(
          store_->sessions.set_status(session, sessions::SessionStatus::kDestroyed, "").value());
    }
  }
  // Whoever reads how they ended stumbles over it.
  const auto database = sessions::Database::open(directory_ + "/hutch.db").value();
  ASSERT_TRUE(database->execute("UPDATE runs SET record = 'no JSON'").ok());
  const mcp::Principal caller{principal_, {}};
  const auto first = tasks.list(caller, "").value();
  ASSERT_EQ(first.tasks.size(), 100U);
  EXPECT_EQ(first.tasks[0].status, mcp::TaskStatus::kCompleted);
  EXPECT_EQ(first.tasks[0].created_at, base::to_rfc3339(1000 + kRuns - 1));
  EXPECT_EQ(first.tasks[0].updated_at, base::to_rfc3339(1000 + kRuns + 4));
  ASSERT_TRUE(first.next_cursor);
  const auto second = tasks.list(caller, *first.next_cursor).value();
  EXPECT_EQ(second.tasks.size(), 50U);
  EXPECT_FALSE(second.next_cursor);
  for (const auto& page : {first, second}) {
    for (const mcp::Task& task : page.tasks) made.erase(task.id);
  }
  EXPECT_TRUE(made.empty());
  EXPECT_TRUE(tasks.list(caller, "1000-" + second.tasks.back().id).value().tasks.empty());
  for (const char* wrong : {"7", "x", "-run_a", "7-", "7-x", "7run_a"}) {
    EXPECT_FALSE(tasks.list(caller, wrong)) << "no page has given " << wrong;
  }
}

TEST_F(ListingsTest, SuggestionsAreOfTheSessionsUsedLast) {
  const tools::Services services{manager_->services(), *share_, ""};
  std::string last;
  for (int i = 0; i < 3; ++i) {
    last = made_session();
    ASSERT_TRUE(store_->sessions.touch(last, base::now_ms() + i).ok());
  }
  const std::string gone = made_session();
  ASSERT_TRUE(store_->sessions.set_status(gone, sessions::SessionStatus::kDestroyed, "").value());
  const auto suggested = tools::complete_session_id(services, "session_", principal_).values;
  ASSERT_EQ(suggested.size(), 3U);
  EXPECT_EQ(suggested[0], last);
}

}  // namespace
