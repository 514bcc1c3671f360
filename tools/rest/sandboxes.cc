#include "tools/rest/sandboxes.h"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "sandbox/environment.h"
#include "sessions/host_id.h"
#include "sessions/quotas.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "sessions/session_options.h"
#include "sessions/session_state.h"
#include "sessions/session_states.h"
#include "sessions/session_time.h"
#include "sessions/session_tokens.h"
#include "sessions/sessions.h"
#include "tools/log_members.h"
#include "tools/rest/api.h"
#include "tools/rest/e2b/e2b.h"
#include "tools/rest/json_answer.h"
#include "tools/rest/process.h"
#include "tools/rest/sandbox_files.h"
#include "tools/scopes.h"

namespace tools::rest {

using base::Error;
using mcp::http::Request;
using mcp::http::Response;
using mcp::http::Route;
using nlohmann::json;
using Type = Argument::Type;
using Work = Route::Work;

namespace sandboxes {
namespace {

constexpr std::int64_t kLifetimeSecondsMax = 3600;
constexpr std::int64_t kLifetimeSecondsDefault = 300;
constexpr std::int64_t kMemoryMb = 4096;
constexpr std::int64_t kCpus = 2;
constexpr std::int64_t kDiskMb = 10240;
constexpr std::int64_t kVariablesMax = 200;
constexpr std::int64_t kArgumentsMax = 10'000;
constexpr int kTimedOutExitCode = 124;  // as timeout(1) has it
// The name under which others know a sandbox with nothing but what the machine has.
constexpr const char* kBase = "base";

json shown(const sessions::SessionState& state) {
  const sessions::Session& session = state.session;
  json value = {
      {"sandboxID", sessions::host_id(session.id)},
      {"templateID", session.template_name},
      {"clientID", "hutch"},
      {"envdVersion", e2b::kEnvdVersion},
      {"status", name_of(session.status)},
      {"state", session.status == sessions::SessionStatus::kPaused ? "paused" : "running"},
      {"startedAt", base::to_rfc3339(session.created_at)}};
  value["metadata"] = session.metadata;
  value["cpuCount"] = session.limits.cpus;
  value["memoryMB"] = session.limits.memory_mb;
  value["diskSizeMB"] = session.limits.disk_mb;
  if (const auto over = sessions::ends_at_ms(session)) {
    value["timeout"] = *session.lifetime_seconds;
    value["endAt"] = base::to_rfc3339(*over);
  }
  return value;
}

// Returns the limits that the API promises, as far as the operator lets a session have them.
sandbox::Limits limits_within(const sessions::Quotas& quotas) {
  sandbox::Limits limits = quotas.default_limits;
  limits.memory_mb = std::min(kMemoryMb, quotas.most_limits.memory_mb);
  limits.cpus = std::min(kCpus, quotas.most_limits.cpus);
  limits.disk_mb = std::min(kDiskMb, quotas.most_limits.disk_mb);
  return limits;
}

// Answers with what else E2B's older SDKs look for about one sandbox. The token is only for who may
// change it: with it code runs.
base::Result<Response> answer_about(const Services& services, const sessions::SessionState& state,
                                    const mcp::Principal& principal) {
  json value = shown(state);
  if (!value.contains("endAt")) value["endAt"] = e2b::end_of_endless(state.session);
  if (may_change(principal.scopes)) {
    value["envdAccessToken"] = TRY(services.tokens.token_of(state.session.id));
  }
  return json_answer(200, value);
}

Error wrong_timeout() {
  return base::error(Error::Kind::kInvalid, "timeout must be a whole number from 1 to " +
                                                std::to_string(kLifetimeSecondsMax));
}

base::Result<Response> create(const Services& services, const Request& request,
                              const Arguments& body) {
  const std::int64_t seconds = body.integer("timeout", kLifetimeSecondsDefault);
  if (seconds < 1) return wrong_timeout();
  // E2B's SDKs say these, and nobody else does.
  for (const char* name : {"secure", "autoPause", "allow_internet_access", "network"}) {
    if (body.has(name)) return e2b::create_sandbox(services, request, body);
  }
  if (seconds > kLifetimeSecondsMax) return wrong_timeout();
  sessions::SessionOptions options;
  options.template_name = body.text("templateID");
  if (options.template_name == kBase) options.template_name = sandbox::kHostTemplate;
  options.lifetime_seconds = seconds;
  options.limits = limits_within(services.quotas.now());
  options.env = body.map("envVars");
  options.metadata = body.map("metadata");
  TRY(check_environment(options.env));
  return json_answer(201, shown(TRY(services.sessions.create(request.principal.id, options))));
}

base::Result<Response> list(const Services& services, const Request& request) {
  json all = json::array();
  for (const auto& state : TRY(services.states.list(request.principal.id, std::nullopt))) {
    all.push_back(shown(state));
  }
  return json_answer(200, all);
}

base::Result<Response> look(const Services& services, const Request& request) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  return answer_about(services, TRY(services.states.state_of(session)), request.principal);
}

base::Result<Response> remove(const Services& services, const Request& request) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  TRY(services.sessions.destroy(request.principal.id, session.id));
  return empty_answer();
}

base::Result<Response> pause(const Services& services, const Request& request) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  return json_answer(200, shown(TRY(services.sessions.pause(request.principal.id, session.id))));
}

base::Result<Response> resume(const Services& services, const Request& request) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  return answer_about(services, TRY(services.sessions.resume(request.principal.id, session.id)),
                      request.principal);
}

json shown(const Seen& seen) {
  const sandbox::Run& run = seen.run;
  json value = {{"processID", run.run_id},
                {"status", name_of(run.status)},
                {"exitCode", run.exit_code ? json(*run.exit_code) : json()},
                {"stdout", seen.output},
                {"stderr", seen.errors},
                {"durationMs", run.duration_ms}};
  if (run.status == sandbox::RunStatus::kTimedOut) value["exitCode"] = kTimedOutExitCode;
  if (run.error) value["error"] = run.error->message;
  if (seen.output_is_cut) value["stdoutFile"] = "/runs/" + run.run_id + "/stdout";
  if (seen.errors_are_cut) value["stderrFile"] = "/runs/" + run.run_id + "/stderr";
  return value;
}

base::Result<Response> run_process(const Services& services, const Request& request,
                                   const Arguments& body) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  std::vector<std::string> words{body.text("cmd")};
  for (const std::string& word : body.list("args")) words.push_back(word);
  sandbox::RunRequest run;
  run.language = sandbox::Language::kBash;
  run.code = TRY(command_line(words, body.text("cwd")));
  run.env = body.map("envVars");
  TRY(check_environment(run.env));
  run.timeout_seconds = sandbox::kRunSecondsMax;
  if (const auto given = body.find_integer("timeout")) {
    run.timeout_seconds = TRY(services.runs.check_seconds(session, *given));
  } else {
    const std::int64_t most = services.quotas.now().most_limits.run_seconds;
    run.timeout_seconds = std::min(run.timeout_seconds, most);
  }
  return json_answer(200,
                     shown(TRY(run_to_its_end(services, session, std::move(run), request.gone))));
}

}  // namespace
}  // namespace sandboxes

base::Result<sessions::Session> sandbox_of(const Services& services, const Request& request) {
  const std::string& id = request.parameters.at("id");
  auto session = services.sessions.find(request.principal.id, id);
  if (!session.ok() && session.error().kind != Error::Kind::kNotFound) return session;
  if (session.ok() && session.value().status != sessions::SessionStatus::kDestroyed &&
      !sessions::lifetime_is_over(session.value())) {
    LogMembers::set("session", session.value().id);
    return session;
  }
  return base::error(Error::Kind::kNotFound, "there is no sandbox " + id + ", or it has ended");
}

std::vector<Route> sandbox_routes(const Services& services) {
  const auto with = [&services](auto function) {
    return [&services, function](const Request& request, const Arguments&) {
      return function(services, request);
    };
  };
  const auto with_body = [&services](auto function) {
    return [&services, function](const Request& request, const Arguments& body) {
      return function(services, request, body);
    };
  };
  // Both have this path, and no member of one means another thing to the other.
  std::vector<Argument> create_body = e2b::creation_body();
  for (Argument& row : create_body) {
    if (row.name == std::string_view("timeout")) row.least = 0;  // create() says what it may be
  }
  create_body.push_back({.name = "secure", .type = Type::kBoolean});
  const std::vector<Argument> process_body{
      {.name = "cmd", .required = true, .least = 1, .most = 4096},
      {.name = "args", .type = Type::kStringList, .most = sandboxes::kArgumentsMax},
      {.name = "cwd", .least = 1, .most = 4096},
      {.name = "envVars", .type = Type::kStringMap, .most = sandboxes::kVariablesMax},
      {.name = "timeout", .type = Type::kInteger, .least = 1, .most = sandbox::kRunSecondsMax}};
  std::vector<Operation> operations{
      {"GET", "/sandboxes", with(sandboxes::list)},
      {"POST", "/sandboxes", with_body(sandboxes::create), create_body, true, Work::kCall},
      {"GET", "/sandboxes/{id}", with(sandboxes::look)},
      {"DELETE", "/sandboxes/{id}", with(sandboxes::remove), {}, true, Work::kCall},
      {"POST", "/sandboxes/{id}/pause", with(sandboxes::pause), {}, true, Work::kCall},
      {"POST", "/sandboxes/{id}/resume", with(sandboxes::resume), {}, true, Work::kCall},
      {"POST", "/sandboxes/{id}/processes", with_body(sandboxes::run_process), process_body, true,
       Work::kCall}};
  std::vector<Route> routes;
  for (Operation& operation : operations) {
    routes.push_back(route_of(std::move(operation), refused_with_code));
  }
  for (auto&& of_files : {sandbox_file_routes(services), upload_routes_of(services)}) {
    routes.insert(routes.end(), of_files.begin(), of_files.end());
  }
  return routes;
}

}  // namespace tools::rest
