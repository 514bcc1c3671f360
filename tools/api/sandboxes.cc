#include "tools/api/sandboxes.h"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sessions/quotas_in_force.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "sessions/session_state.h"
#include "sessions/session_states.h"
#include "sessions/session_tokens.h"
#include "sessions/sessions.h"
#include "tools/api/api.h"
#include "tools/api/create_sandbox.h"
#include "tools/api/e2b/e2b.h"
#include "tools/api/json_answer.h"
#include "tools/program_run.h"
#include "tools/api/sandbox_files.h"
#include "tools/api/sandbox_view.h"
#include "tools/log_members.h"
#include "tools/scopes.h"

namespace tools::api {

using base::Error;
using mcp::http::Request;
using mcp::http::Response;
using mcp::http::Route;
using nlohmann::json;
using Type = Argument::Type;
using Work = Route::Work;

namespace {

constexpr std::int64_t kVariablesMax = 200;
constexpr std::int64_t kArgumentsMax = 10'000;
constexpr int kTimedOutExitCode = 124;  // as timeout(1) has it
constexpr int kNotFoundExitCode = 127;  // as a shell has it
constexpr const char* kOneProgram =
    "cmd is one program, with its words in args, and no shell reads it; a line for one is cmd "
    "\"bash\" with args [\"-c\", LINE]";

// Answers with what else E2B's older SDKs look for about one sandbox. The token is only for who may
// change it: with it code runs.
base::Result<Response> answer_about(const Services& services, const sessions::SessionState& state,
                                    const mcp::Principal& principal) {
  json value = sandbox_view(state);
  if (!value.contains("endAt")) value["endAt"] = e2b::end_of_endless(state.session);
  if (may_change(principal.scopes)) {
    value["envdAccessToken"] = TRY(services.tokens.token_of(state.session.id));
  }
  return json_answer(200, value);
}

base::Result<Response> list_sandboxes(const Services& services, const Request& request) {
  json all = json::array();
  const auto states = TRY(services.states.list(request.principal.id, std::nullopt));
  for (const auto& state : *states) {
    all.push_back(sandbox_view(state));
  }
  return json_answer(200, all);
}

base::Result<Response> look_at_sandbox(const Services& services, const Request& request) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  return answer_about(services, TRY(services.states.state_of(session)), request.principal);
}

base::Result<Response> remove_sandbox(const Services& services, const Request& request) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  TRY(services.sessions.destroy(request.principal.id, session.id));
  return empty_answer();
}

base::Result<Response> pause(const Services& services, const Request& request) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  return json_answer(200,
                     sandbox_view(TRY(services.sessions.pause(request.principal.id, session.id))));
}

base::Result<Response> resume(const Services& services, const Request& request) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  return answer_about(services, TRY(services.sessions.resume(request.principal.id, session.id)),
                      request.principal);
}

// Returns whether the text is more than a program's name.
bool is_line_of_shell(const std::string& text) {
  return text.find_first_of(" \t\n;|&<>$`") != std::string::npos;
}

json run_view_of(const Seen& seen) {
  const sandbox::Run& run = seen.run;
  json value = {{"processID", run.run_id},
                {"status", name_of(run.status)},
                {"exitCode", run.exit_code ? json(*run.exit_code) : json()},
                {"stdout", seen.output},
                {"stderr", seen.errors},
                {"durationMs", run.duration_ms}};
  if (run.status == sandbox::RunStatus::kTimedOut) value["exitCode"] = kTimedOutExitCode;
  if (run.error) value["error"] = run.error->message;
  add_cut(value, seen, kCutInCamelCase);
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
  run.trace.mark(sandbox::Hop::kCalled, request.begun);
  run.timeout_seconds = sandbox::kRunSecondsMax;
  if (const auto given = body.find_integer("timeout")) {
    run.timeout_seconds = TRY(services.runs.check_seconds(session, *given));
  } else {
    const std::int64_t most = services.quotas.now().most_limits.run_seconds;
    run.timeout_seconds = std::min(run.timeout_seconds, most);
  }
  json ran = run_view_of(TRY(run_to_its_end(services, session, std::move(run), request.gone)));
  if (ran["exitCode"] == kNotFoundExitCode && words.size() == 1 && is_line_of_shell(words[0])) {
    ran["note"] = kOneProgram;
  }
  return json_answer(200, ran);
}

}  // namespace

base::Result<sessions::Session> sandbox_of(const Services& services, const Request& request) {
  const std::string& id = request.parameters.at("id");
  auto session = services.sessions.find_live(request.principal.id, id);
  if (session.ok()) {
    LogMembers::set("session", session.value().id);
  } else if (session.error().kind == Error::Kind::kNotFound) {
    return base::error(Error::Kind::kNotFound, "there is no sandbox " + id + ", or it has ended");
  }
  return session;
}

std::vector<Route> sandbox_routes(const Services& services) {
  const With with(services);
  const std::vector<Argument> process_body{
      {.name = "cmd", .required = true, .description = kOneProgram, .least = 1, .most = 4096},
      {.name = "args", .type = Type::kStringList, .most = kArgumentsMax, .is_content = true},
      {.name = "cwd", .least = 1, .most = 4096},
      {.name = "envVars", .type = Type::kStringMap, .most = kVariablesMax, .is_content = true},
      {.name = "timeout", .type = Type::kInteger, .least = 1, .most = sandbox::kRunSecondsMax}};
  std::vector<Operation> operations{
      {"GET", "/sandboxes", with(list_sandboxes)},
      {"POST", "/sandboxes", with(create_sandbox), creation_body(), true, Work::kCall},
      {"GET", "/sandboxes/{id}", with(look_at_sandbox)},
      {"DELETE", "/sandboxes/{id}", with(remove_sandbox), {}, true, Work::kCall},
      {"POST", "/sandboxes/{id}/pause", with(pause), {}, true, Work::kCall},
      {"POST", "/sandboxes/{id}/resume", with(resume), {}, true, Work::kCall},
      {"POST", "/sandboxes/{id}/processes", with(run_process), process_body, true, Work::kCall}};
  std::vector<Route> routes = routes_of(std::move(operations), refused_with_code);
  for (auto&& of_files : {sandbox_file_routes(services), upload_routes_of(services)}) {
    routes.insert(routes.end(), of_files.begin(), of_files.end());
  }
  return routes;
}

}  // namespace tools::api
