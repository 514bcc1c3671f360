// The code interpreter's /execute: runs in the interpreters of a session.
#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "sandbox/limits.h"
#include "sandbox/output.h"
#include "sessions/follow.h"
#include "sessions/quotas_in_force.h"
#include "sessions/run_files.h"
#include "sessions/run_state.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "sessions/sessions.h"
#include "tools/api/api.h"
#include "tools/api/e2b/cell_result.h"
#include "tools/api/e2b/connect.h"
#include "tools/api/e2b/contexts.h"
#include "tools/api/e2b/e2b.h"
#include "tools/api/e2b/reader.h"
#include "tools/api/json_answer.h"
#include "tools/program_run.h"
#include "tools/arguments.h"
#include "tools/text_window.h"

namespace tools::api::e2b {

using base::Error;
using mcp::http::Request;
using mcp::http::Response;
using mcp::http::Route;
using nlohmann::json;
using sessions::RunState;

namespace {

constexpr std::size_t kExecuteBytesMax = std::size_t{2} * sandbox::kCodeBytesMax;

struct Cell {
  sandbox::RunRequest run;
  sessions::Session session;
};

const std::vector<Argument>& cell_body() {
  static const std::vector<Argument> kTable{
      {.name = "code", .required = true, .most = sandbox::kCodeBytesMax, .is_content = true},
      {.name = "context_id", .most = 100},
      {.name = "language", .most = 100},
      {.name = "env_vars", .type = Argument::Type::kStringMap, .most = 200, .is_content = true}};
  return kTable;
}

base::Result<Cell> cell_in(const Services& services, const Request& request) {
  Cell cell;
  cell.session = TRY(session_of(services, request));
  const Arguments given = TRY(body_of(cell_body(), request));
  CodeContext context;
  if (given.text("context_id").empty()) {
    context.language = TRY(language_named(given.text("language")));
  } else {
    context = TRY(context_named(services, cell.session, given.text("context_id")));
  }
  cell.run.language = context.language;
  cell.run.context = context.id;
  cell.run.code = given.text("code");
  cell.run.env = given.map("env_vars");
  TRY(check_environment(cell.run.env));
  const std::int64_t most = services.quotas.now().most_limits.run_seconds;
  cell.run.timeout_seconds = std::min(sandbox::kRunSecondsMax, most);
  cell.run.trace.mark(sandbox::Hop::kCalled, request.begun);
  return cell;
}

json error_of(const sandbox::RunError& error) {
  return {{"type", "error"},
          {"name", error.name},
          {"value", error.message},
          {"traceback", error.traceback}};
}

// The code itself has come to its end, whatever became of its session afterwards.
bool ended_by_itself(const sandbox::Run& run) {
  return run.status == sandbox::RunStatus::kCompleted ||
         (run.error && run.error->cause == sandbox::Cause::kException);
}

bool has_gone(const Services& services, const sessions::Session& session) {
  const auto now = services.sessions.find(session.principal_id, session.id);
  if (!now.ok()) return now.error().kind == base::Error::Kind::kNotFound;
  return now.value().status == sessions::SessionStatus::kDestroyed;
}

void execute(const Services& services, const Cell& cell, RunState state,
             const std::shared_ptr<mcp::http::Stream>& out) {
  const auto send = [&out](const json& line) {
    return out->send_patiently(base::print_json(line) + "\n");
  };
  const std::string run_id = state.run.run_id;
  const std::stop_token gone = gone_of(*out);
  // A character may be cut between two pieces.
  std::string begun[2];
  sessions::FollowOptions options{.gone = gone, .draining = services.draining};
  options.look_every = kSilentFor;
  options.printed = [&](const char* stream, const std::string& bytes) {
    std::string& rest = begun[std::string_view(stream) == "stderr" ? 1 : 0];
    rest += bytes;
    const std::size_t whole = whole_characters(rest, rest.size());
    const json line = {{"type", stream},
                       {"text", to_utf8(std::string_view(rest).substr(0, whole))},
                       {"timestamp", base::now_ms() * 1'000'000}};
    rest.erase(0, whole);
    return send(line);
  };
  const auto followed = sessions::follow(services.runs, services.run_files,
                                         cell.session.principal_id, std::move(state), options);
  using End = sessions::Followed::End;
  const bool has_ended = followed.ok() && followed.value().end == End::kEnded;
  const bool is_unwanted = followed.ok() && followed.value().end == End::kUnwanted;
  // Nobody else knows of the run, and the next cell would wait for it.
  if (!has_ended && (is_unwanted || gone.stop_requested())) {
    (void)services.runs.cancel(cell.session.principal_id, run_id);
    return;
  }
  const sandbox::Run last = has_ended ? followed.value().state.run : sandbox::Run();
  if (!ended_by_itself(last) && has_gone(services, cell.session)) return out->break_off();
  const auto tell = [&send](const std::string& what) {
    (void)send(
        {{"type", "stderr"}, {"text", what + "\n"}, {"timestamp", base::now_ms() * 1'000'000}});
  };
  for (std::size_t at = 0; at < last.outputs.size(); ++at) {
    const CellResult result = cell_result(services, followed.value().state, at);
    for (const std::string& what : result.left_out) tell(what);
    (void)out->send_patiently(result.event + "\n");
  }
  if (last.outputs_dropped) tell(sandbox::kOutputsDropped);
  if (last.error) (void)send(error_of(*last.error));
  if (!has_ended) {
    const base::Error why = followed.ok() ? is_stopping(run_id) : followed.error();
    (void)send(
        {{"type", "error"}, {"name", "SandboxError"}, {"value", why.message}, {"traceback", ""}});
  }
  (void)send({{"type", "number_of_executions"}, {"execution_count", last.execution_count}});
  (void)send({{"type", "end_of_execution"}});
  out->close();
}

Response start_execution(const Services& services, const Request& request) {
  auto begun = [&]() -> base::Result<std::pair<Cell, RunState>> {
    Cell cell = TRY(cell_in(services, request));
    auto state = TRY(services.runs.start(cell.session, cell.run));
    return std::make_pair(std::move(cell), std::move(state));
  }();
  if (!begun.ok()) {
    const base::Error& error = begun.error();
    return with_retry_after(error, refused_with_code(status_of(error), error.message));
  }
  Response response;
  response.content_type = "application/x-ndjson";
  response.start_stream = [&services, cell = begun.value().first, state = begun.value().second](
                              const std::shared_ptr<mcp::http::Stream>& out) {
    execute(services, cell, state, out);
  };
  return response;
}

}  // namespace

std::vector<Route> interpreter_routes(const Services& services) {
  Route execute;
  execute.method = "POST";
  execute.path = "/execute";
  execute.access = Route::Access::kPublic;
  execute.identify = identified_by(services, session_of);
  execute.refusal = refused_with_code;
  execute.work = Route::Work::kCall;
  execute.body_bytes = kExecuteBytesMax;
  execute.body_schema = base::print_json(schema_of(cell_body()));
  execute.answer = [&services](const Request& request) {
    return start_execution(services, request);
  };
  std::vector<Route> routes = context_routes(services);
  routes.push_back(std::move(execute));
  return routes;
}

}  // namespace tools::api::e2b
