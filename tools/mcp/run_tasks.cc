#include "tools/mcp/run_tasks.h"

#include <charconv>

#include "sessions/run_record.h"
#include "sessions/run_state.h"
#include "sessions/run_table.h"
#include "sessions/runs.h"
#include "tools/mcp/run_reply.h"
#include "tools/mcp/tool_kit.h"
#include "tools/scopes.h"

namespace tools {

namespace {

// Behind which the next page begins: "1764158400000-run_k2...".
std::string cursor_behind(const sessions::Run& run) {
  return std::to_string(run.queued_at) + "-" + run.id;
}

// Nothing for one that cannot be.
std::optional<sessions::RunPlace> place_at(const std::string& cursor) {
  sessions::RunPlace place;
  const char* end = cursor.data() + cursor.size();
  const auto [rest, error] = std::from_chars(cursor.data(), end, place.queued_at);
  if (error != std::errc() || rest == end || *rest != '-') return std::nullopt;
  place.id.assign(rest + 1, end);
  if (!place.id.starts_with("run_")) return std::nullopt;
  return place;
}

}  // namespace

std::optional<mcp::Task> RunTasks::find(const mcp::Principal& principal, const std::string& id) {
  // How it is, not what it says.
  const auto state = services_.runs.get(principal.id, id, sessions::Reader::kNobody);
  if (!state.ok()) return std::nullopt;
  return task_of_run(state.value());
}

std::optional<mcp::TaskOutcome> RunTasks::outcome(const mcp::Principal& principal,
                                                  const std::string& id) {
  const auto state = services_.runs.get(principal.id, id);
  if (!state.ok()) return std::nullopt;
  return to_tool_result(reply_of_run(services_, state.value()));
}

bool RunTasks::cancel(const mcp::Principal& principal, const std::string& id) {
  if (!may_change(principal.scopes)) return false;
  (void)services_.runs.cancel(principal.id, id);  // how the task is then, find() says
  return true;
}

std::optional<mcp::TaskPage> RunTasks::list(const mcp::Principal& principal,
                                            const std::string& cursor) {
  std::optional<sessions::RunPlace> place;
  if (!cursor.empty()) {
    place = place_at(cursor);
    if (!place) return std::nullopt;
  }
  // One more tells whether there is another page.
  auto runs = services_.run_table.newest(principal.id, place, kPageSize + 1);
  if (!runs.ok()) return std::nullopt;
  mcp::TaskPage page;
  if (runs.value().size() > kPageSize) {
    runs.value().pop_back();
    page.next_cursor = cursor_behind(runs.value().back());
  }
  for (const sessions::Run& run : runs.value()) {
    // The row says all of a run that has ended; of another its box knows.
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
