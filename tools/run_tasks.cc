#include "tools/run_tasks.h"

#include "sessions/run_record.h"
#include "tools/run_reply.h"
#include "tools/scopes.h"
#include "tools/tool_kit.h"

namespace tools {

namespace {}  // namespace

std::optional<mcp::Task> RunTasks::find(const mcp::Principal& principal, const std::string& id) {
  // How it is, not what it says.
  const auto state =
      services_.sessions.wait_run(principal.id, id, {}, {}, sessions::Manager::Reader::kNobody);
  if (!state.ok()) return std::nullopt;
  return task_of_run(state.value());
}

std::optional<mcp::TaskOutcome> RunTasks::outcome(const mcp::Principal& principal,
                                                  const std::string& id) {
  const auto state = services_.sessions.wait_run(principal.id, id, {}, {});
  if (!state.ok()) return std::nullopt;
  return to_tool_result(reply_of_run(services_.sessions, state.value()));
}

bool RunTasks::cancel(const mcp::Principal& principal, const std::string& id) {
  if (!may_change(principal.scopes)) return false;
  (void)services_.sessions.cancel_run(principal.id, id);  // how the task is then, find() says
  return true;
}

std::optional<mcp::TaskPage> RunTasks::list(const mcp::Principal& principal,
                                            const std::string& cursor) {
  const auto offset = offset_of_page(cursor, kPageSize);
  if (!offset) return std::nullopt;
  // One more tells whether there is another page.
  auto runs = services_.sessions.store().newest_runs(
      principal.id, static_cast<std::int64_t>(*offset), kPageSize + 1);
  if (!runs.ok()) return std::nullopt;
  mcp::TaskPage page;
  if (runs.value().size() > kPageSize) {
    runs.value().pop_back();
    page.next_cursor = std::to_string(*offset + kPageSize);
  }
  for (const sessions::RunHead& run : runs.value()) {
    // Of one that has ended the row says all; of another its box knows.
    if (run.finished_at) {
      page.tasks.push_back(task_of_run({run.session_id, sessions::run_of(run)}));
    } else if (auto task = find(principal, run.id)) {
      page.tasks.push_back(std::move(*task));
    }
  }
  return page;
}

void RunTasks::watch(const std::string& principal_id, const std::string& id) {
  watch_.add({mcp::Change::Kind::kTask, id}, principal_id);
}

void RunTasks::unwatch(const std::string& principal_id, const std::string& id) {
  watch_.remove({mcp::Change::Kind::kTask, id}, principal_id);
}

}  // namespace tools
