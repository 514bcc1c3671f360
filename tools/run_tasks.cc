#include "tools/run_tasks.h"

#include <algorithm>

#include "sandbox/base/clock.h"
#include "tools/run_reply.h"
#include "tools/scopes.h"
#include "tools/tool_kit.h"

namespace tools {

namespace {

constexpr std::size_t kPageSize = 100;
constexpr std::int64_t kRunsMax = 1000;              // of a session, the newest
constexpr std::chrono::seconds kCancelPatience{10};  // as long as an interpreter may resist

}  // namespace

std::optional<mcp::Task> RunTasks::find(const mcp::Principal& principal, const std::string& id) {
  const auto state = services_.sessions.wait_run(principal.id, id, {}, {});
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
  if (services_.sessions.cancel_run(principal.id, id).ok()) {
    sandbox::WaitOptions options;
    options.timeout = kCancelPatience;
    (void)services_.sessions.wait_run(principal.id, id, options, {});
  }
  return true;
}

std::optional<mcp::TaskPage> RunTasks::list(const mcp::Principal& principal,
                                            const std::string& cursor) {
  const auto offset = offset_of_page(cursor, kPageSize);
  auto sessions = services_.sessions.store().list_sessions(principal.id);
  if (!offset || !sessions.ok()) return std::nullopt;
  std::vector<sessions::Run> runs;
  for (const sessions::Session& session : sessions.value()) {
    auto some = services_.sessions.store().runs_of_session(session.id, kRunsMax);
    if (!some.ok()) continue;
    for (sessions::Run& run : some.value()) runs.push_back(std::move(run));
  }
  std::sort(runs.begin(), runs.end(), [](const sessions::Run& one, const sessions::Run& other) {
    return std::tie(other.queued_at, other.id) < std::tie(one.queued_at, one.id);
  });
  mcp::TaskPage page;
  for (std::size_t i = *offset; i < runs.size() && page.tasks.size() < kPageSize; ++i) {
    if (auto task = find(principal, runs[i].id)) page.tasks.push_back(std::move(*task));
  }
  if (runs.size() > *offset + kPageSize) page.next_cursor = std::to_string(*offset + kPageSize);
  return page;
}

void RunTasks::watch(const std::string& principal_id, const std::string& id) {
  watch_.add({mcp::Change::Kind::kTask, id}, principal_id);
}

void RunTasks::unwatch(const std::string& principal_id, const std::string& id) {
  watch_.remove({mcp::Change::Kind::kTask, id}, principal_id);
}

}  // namespace tools
