#include "tools/api/agentcop.h"

#include <string>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "sessions/quotas_in_force.h"
#include "sessions/run_table.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "sessions/session_state.h"
#include "sessions/session_states.h"
#include "sessions/session_time.h"
#include "sessions/sessions.h"
#include "tools/api/agentcop_config.h"
#include "tools/api/api.h"
#include "tools/api/json_answer.h"
#include "tools/program_run.h"
#include "tools/log_members.h"

namespace tools::api {

using base::Error;
using mcp::http::Request;
using mcp::http::Response;
using mcp::http::Route;
using nlohmann::json;
using Type = Argument::Type;
using Work = Route::Work;

namespace {

constexpr std::int64_t kRunSecondsDefault = 30;

// Returns a status that the API knows. A paused, stored or stopped session is ready: its next run
// gives it processes.
std::string agentcop_status(const sessions::SessionState& state) {
  if (!sessions::is_live(state.session)) return "destroyed";
  if (!state.active.empty()) return "running";
  const sessions::SessionStatus status = state.session.status;
  const bool is_idle = status == sessions::SessionStatus::kPaused ||
                       status == sessions::SessionStatus::kStored ||
                       status == sessions::SessionStatus::kStopped;
  return name_of(is_idle ? sessions::SessionStatus::kReady : status);
}

json agentcop_view(const sessions::SessionState& state) {
  const sessions::Session& session = state.session;
  json value = {{"sandbox_id", session.id},
                {"status", agentcop_status(state)},
                {"mode", "container"},
                {"created_at", base::to_rfc3339(session.created_at)}};
  if (const auto tier = sessions::tier_of(session.status)) value["tier"] = name_of(*tier);
  if (session.lifetime_seconds) {
    value["expires_at"] = base::to_rfc3339(session.created_at + *session.lifetime_seconds * 1000);
  }
  if (session.error) value["error"] = *session.error;
  return value;
}

json agentcop_view(const Seen& seen) {
  const sandbox::Run& run = seen.run;
  json value = {
      {"run_id", run.run_id},   {"status", name_of(run.status)},
      {"stdout", seen.output},  {"stderr", seen.errors},
      {"outputs", run.outputs}, {"exit_code", run.exit_code ? json(*run.exit_code) : json()}};
  add_cut(value, seen, kCutInSnakeCase);
  if (is_terminal(run.status)) value["duration_ms"] = run.duration_ms;
  if (run.error) {
    value["error"] = {{"name", run.error->name},
                      {"message", run.error->message},
                      {"traceback", run.error->traceback}};
  }
  return value;
}

base::Result<sessions::Session> agentcop_session(const Services& services, const Request& request) {
  const std::string& id = request.parameters.at("id");
  auto session = services.sessions.find(request.principal.id, id);
  if (session.ok()) LogMembers::set("session", session.value().id);
  if (session.ok() || session.error().kind != Error::Kind::kNotFound) return session;
  return base::error(Error::Kind::kNotFound, "there is no sandbox " + id);
}

base::Result<Response> create_agentcop_sandbox(const Services& services, const Request& request,
                                               const Arguments& body) {
  if (body.text("mode", "container") == "wasm") {
    return base::error(Error::Kind::kInvalid,
                       "mode wasm is not served: leave mode out, or give container");
  }
  const auto options = TRY(options_of_config(body.object("config"), services.quotas.now()));
  return json_answer(201,
                     agentcop_view(TRY(services.sessions.create(request.principal.id, options))));
}

base::Result<Response> look_at_agentcop_sandbox(const Services& services, const Request& request) {
  const sessions::Session session = TRY(agentcop_session(services, request));
  return json_answer(200, agentcop_view(TRY(services.states.state_of(session))));
}

base::Result<Response> remove_agentcop_sandbox(const Services& services, const Request& request) {
  const sessions::Session session = TRY(agentcop_session(services, request));
  if (session.status != sessions::SessionStatus::kDestroyed) {
    TRY(services.sessions.destroy(request.principal.id, session.id));
  }
  return empty_answer();
}

base::Result<Response> run(const Services& services, const Request& request,
                           const Arguments& body) {
  const sessions::Session session = TRY(agentcop_session(services, request));
  if (!sessions::is_live(session)) {
    return base::error(Error::Kind::kConflict,
                       "sandbox " + session.id + " is destroyed: create another");
  }
  sandbox::RunRequest wanted;
  wanted.code = body.text("code");
  wanted.trace.mark(sandbox::Hop::kCalled, request.begun);
  wanted.timeout_seconds =
      TRY(services.runs.check_seconds(session, body.integer("timeout", kRunSecondsDefault)));
  if (!body.boolean("async", false)) {
    return json_answer(
        200,
        agentcop_view(TRY(run_to_its_end(services, session, std::move(wanted), request.gone))));
  }
  const auto state = TRY(services.runs.start(session, std::move(wanted)));
  return json_answer(202, {{"run_id", state.run.run_id},
                           {"sandbox_id", session.id},
                           {"status", name_of(state.run.status)}});
}

base::Result<Response> look_at_run(const Services& services, const Request& request) {
  const sessions::Session session = TRY(agentcop_session(services, request));
  const std::string& id = request.parameters.at("run");
  const auto row = services.run_table.find(request.principal.id, id);
  if (!row.ok() || row.value().session_id != session.id) {
    return base::error(Error::Kind::kNotFound,
                       "there is no run " + id + " in sandbox " + session.id);
  }
  auto state = TRY(services.runs.get(request.principal.id, id));
  return json_answer(200, agentcop_view(TRY(look_at(services, std::move(state)))));
}

// {"error": {"code": 404, "message": "there is no sandbox x"}}
Response agentcop_refusal(int status, const std::string& message) {
  return json_answer(status, {{"error", {{"code", status}, {"message", message}}}});
}

}  // namespace

std::vector<Route> agentcop_routes(const Services& services) {
  const With with(services);
  const std::vector<Argument> create_body{{.name = "agent_id", .most = 200},
                                          {.name = "mode", .values = {"container", "wasm"}},
                                          {.name = "config", .type = Type::kObject}};
  const std::vector<Argument> run_body{
      {.name = "code",
       .required = true,
       .least = 1,
       .most = sandbox::kCodeBytesMax,
       .is_content = true},
      {.name = "timeout", .type = Type::kInteger, .least = 1, .most = sandbox::kRunSecondsMax},
      {.name = "async", .type = Type::kBoolean}};
  std::vector<Operation> operations{
      {"POST", "/api/sandbox/create", with(create_agentcop_sandbox), create_body, true,
       Work::kCall},
      {"GET", "/api/sandbox/{id}", with(look_at_agentcop_sandbox)},
      {"DELETE", "/api/sandbox/{id}", with(remove_agentcop_sandbox), {}, true, Work::kCall},
      {"POST", "/api/sandbox/{id}/run", with(run), run_body, true, Work::kCall},
      {"GET", "/api/sandbox/{id}/run/{run}", with(look_at_run)}};
  std::vector<Route> routes;
  for (Operation& operation : operations) {
    routes.push_back(route_of(std::move(operation), agentcop_refusal));
  }
  return routes;
}

}  // namespace tools::api
