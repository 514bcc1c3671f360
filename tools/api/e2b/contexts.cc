#include "tools/api/e2b/contexts.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/random_id.h"
#include "sessions/boxes.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "sessions/session_states.h"
#include "tools/api/api.h"
#include "tools/api/e2b/connect.h"
#include "tools/api/json_answer.h"

namespace tools::api::e2b {

using base::Error;
using mcp::http::Request;
using mcp::http::Response;
using mcp::http::Route;
using nlohmann::json;
using sandbox::Language;

namespace {

constexpr std::string_view kSharedPrefix = "default-";
constexpr std::int64_t kStartSeconds = 60;

json context_view(const std::string& id, Language language, const std::string& directory) {
  return {{"id", id}, {"language", name_of(language)}, {"cwd", directory}};
}

std::map<std::string, sandbox::RunContext> contexts_of(const Services& services,
                                                       const sessions::Session& session) {
  const auto box = services.boxes.live_status(session);
  return box.ok() ? box.value().contexts : std::map<std::string, sandbox::RunContext>();
}

base::Result<Response> list_contexts(const Services& services, const Request& request,
                                     const Arguments&) {
  const sessions::Session session = TRY(session_of(services, request));
  json all = json::array();
  for (const Language language : {Language::kPython, Language::kJavaScript, Language::kBash}) {
    all.push_back(context_view(std::string(kSharedPrefix) + name_of(language), language,
                               session.working_directory));
  }
  for (const auto& [id, context] : contexts_of(services, session)) {
    const std::string& own = context.directory;
    all.push_back(
        context_view(id, context.language, own.empty() ? session.working_directory : own));
  }
  return json_answer(200, all);
}

// Returns code that does nothing in this language.
std::string nothing_in(Language language) {
  if (language == Language::kBash) return ":";
  if (language == Language::kSql) return "select 1";
  return language == Language::kPython ? "pass" : ";";
}

// With a run of nothing: whoever asks hears now when its directory is not there.
base::Result<Response> create_context(const Services& services, const Request& request,
                                      const Arguments& given) {
  const sessions::Session session = TRY(session_of(services, request));
  sandbox::RunRequest run;
  run.language = TRY(language_named(given.text("language")));
  run.context = base::short_id(std::string(name_of(run.language)) + "-");
  run.directory = absolute_path(session, given.text("cwd", session.working_directory));
  run.code = nothing_in(run.language);
  run.timeout_seconds = kStartSeconds;
  run.trace.mark(sandbox::Hop::kCalled, request.begun);
  const auto started = TRY(services.runs.start(session, run));
  sandbox::WaitOptions options;
  options.timeout = std::chrono::seconds(kStartSeconds + 10);
  const auto ended =
      TRY(services.runs.wait(session.principal_id, started.run.run_id, options, services.draining));
  if (ended.run.status == sandbox::RunStatus::kCompleted) {
    return json_answer(200, context_view(run.context, run.language, run.directory));
  }
  (void)services.boxes.end_context(session, run.context);
  return base::error(Error::Kind::kInvalid, ended.run.error ? ended.run.error->message
                                                            : "the context did not start in time");
}

base::Result<Response> remove_context(const Services& services, const Request& request,
                                      const Arguments&) {
  const sessions::Session session = TRY(session_of(services, request));
  const CodeContext context =
      TRY(context_named(services, session, request.parameters.at("context")));
  if (context.id.empty()) {
    return base::error(Error::Kind::kUnsupported,
                       "the context that is there without being created stays: restart it");
  }
  TRY(services.boxes.end_context(session, context.id));
  return empty_answer();
}

base::Result<Response> restart_context(const Services& services, const Request& request,
                                       const Arguments&) {
  const sessions::Session session = TRY(session_of(services, request));
  const CodeContext context =
      TRY(context_named(services, session, request.parameters.at("context")));
  sandbox::RunRequest run;
  run.language = context.language;
  run.context = context.id;
  run.code = nothing_in(run.language);
  run.restart = true;
  run.timeout_seconds = kStartSeconds;
  run.trace.mark(sandbox::Hop::kCalled, request.begun);
  // It is asked for when one is stuck.
  const auto now = TRY(services.states.state_of(session));
  for (const sandbox::Run& active : now.active) {
    if (active.background || active.language != run.language || active.context != run.context) {
      continue;
    }
    (void)services.runs.cancel(session.principal_id, active.run_id);
  }
  (void)TRY(services.runs.start(session, std::move(run)));
  return empty_answer();
}

}  // namespace

base::Result<Language> language_named(const std::string& name) {
  if (name.empty()) return Language::kPython;
  if (name == "js") return Language::kJavaScript;
  if (name == "ts") return Language::kTypeScript;
  if (const auto language = sandbox::find_language(name)) return *language;
  return base::error(
      Error::Kind::kInvalid,
      "there is no language " + name + "; there are python, javascript, typescript, bash, sql");
}

base::Result<CodeContext> context_named(const Services& services, const sessions::Session& session,
                                        const std::string& id) {
  if (id.starts_with(kSharedPrefix)) {
    const Language language = TRY(language_named(id.substr(kSharedPrefix.size())));
    return CodeContext{language, ""};
  }
  const auto all = contexts_of(services, session);
  const auto found = all.find(id);
  if (found != all.end()) {
    // A context of TypeScript is one of JavaScript's interpreter, and its name says which it is.
    const bool is_typed = id.starts_with("typescript-");
    return CodeContext{is_typed ? Language::kTypeScript : found->second.language, id};
  }
  return base::error(Error::Kind::kNotFound,
                     "there is no context " + id + ": it was removed, or ended with its sandbox");
}

std::vector<Route> context_routes(const Services& services) {
  using Work = Route::Work;
  const With with(services);
  std::vector<Operation> operations{
      {"GET", "/contexts", with(list_contexts), {}, false, Work::kCall},
      {"POST",
       "/contexts",
       with(create_context),
       {{.name = "language", .most = 100}, {.name = "cwd", .most = 4096}},
       true,
       Work::kCall},
      {"DELETE", "/contexts/{context}", with(remove_context), {}, true, Work::kCall},
      {"POST", "/contexts/{context}/restart", with(restart_context), {}, true, Work::kCall}};
  std::vector<Route> routes;
  for (Operation& operation : operations) {
    Route route = route_of(std::move(operation), refused_with_code);
    route.access = Route::Access::kPublic;
    route.identify = identified_by(services, session_of);
    routes.push_back(std::move(route));
  }
  return routes;
}

}  // namespace tools::api::e2b
