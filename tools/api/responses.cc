#include "tools/api/responses.h"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/random_id.h"
#include "sessions/boxes.h"
#include "sessions/kept_calls.h"
#include "sessions/manager_config.h"
#include "sessions/run_table.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "sessions/session_states.h"
#include "sessions/sessions.h"
#include "sessions/share_table.h"
#include "share/file_share.h"
#include "tools/api/api.h"
#include "tools/api/download.h"
#include "tools/api/json_answer.h"
#include "tools/program_run.h"
#include "tools/api/response_view.h"
#include "tools/api/sandbox_files.h"
#include "tools/languages.h"
#include "tools/log_members.h"
#include "tools/session_files.h"

namespace tools::api {

using base::Error;
using mcp::http::Request;
using mcp::http::Response;
using mcp::http::Route;
using nlohmann::json;
using Type = Argument::Type;
using Work = Route::Work;

namespace {

constexpr std::int64_t kCallsMax = 100;  // a response shows so many: the newest
constexpr const char* kIdPrefix = "resp_";
constexpr std::int64_t kExpirySeconds = 7 * 86400;

base::Result<sessions::Session> session_of_response(const Services& services,
                                                    const Request& request) {
  const std::string& id = request.parameters.at("id");
  auto session = services.sessions.find(request.principal.id, id);
  // By the id of a session one would see what was never a response.
  if (session.ok() && session.value().name == id) {
    LogMembers::set("session", session.value().id);
    return session;
  }
  if (!session.ok() && session.error().kind != Error::Kind::kNotFound) return session;
  return base::error(Error::Kind::kNotFound, "there is no response " + id);
}

base::Result<json> whole(const Services& services, const sessions::Session& session) {
  ResponseParts parts{session.name.value_or(session.id), session, {}, {}};
  auto runs = TRY(services.run_table.of_session(session.id, kCallsMax + 1));
  if (std::cmp_greater(runs.size(), kCallsMax)) {
    parts.is_cut = true;
    runs.pop_back();
  }
  std::reverse(runs.begin(), runs.end());
  for (const sessions::Run& run : runs) {
    const auto posted = services.kept_calls.find(session.id, run.id);
    if (!posted.ok()) continue;  // it came through another door
    auto state = TRY(services.runs.get(session.principal_id, run.id));
    auto view = TRY(look_at(services, std::move(state)));
    parts.calls.push_back({call_from_json(posted.value()), std::move(view)});
  }
  parts.shares = TRY(services.share_table.of_session(session.id));
  return response_to_json(parts);
}

base::Result<sandbox::RunRequest> run_of(const Services& services, const sessions::Session& session,
                                         const Arguments& body) {
  sandbox::RunRequest run;
  run.language = *sandbox::find_language(body.text("language", "python"));
  run.code = body.text("input");
  run.timeout_seconds = session.limits.run_seconds;
  if (const auto given = body.find_integer("timeout_seconds")) {
    run.timeout_seconds = TRY(services.runs.check_seconds(session, *given));
  }
  return run;
}

base::Result<Response> create_response(const Services& services, const Request& request,
                                       const Arguments& body) {
  if (body.has("model")) {
    return base::error(Error::Kind::kInvalid,
                       "there is no model here: leave model out, and post the code that your model "
                       "wrote as input");
  }
  const std::string id = body.text("id", base::short_id(kIdPrefix));
  const sessions::Session session =
      TRY(services.sessions.find_or_create_named(request.principal.id, id));
  sandbox::RunRequest run = TRY(run_of(services, session, body));
  run.trace.mark(sandbox::Hop::kCalled, request.begun);
  const PostedCall posted{body.text("call_id", base::short_id("call_")), run.code,
                          body.boolean("background", false)};
  const auto state = TRY(services.runs.start(session, std::move(run)));
  TRY(services.kept_calls.keep(session.id, state.run.run_id,
                               base::print_json(call_to_json(posted))));
  if (!posted.background) (void)TRY(wait_for_end(services, session, state, request.gone));
  return json_answer(posted.background ? 202 : 200, TRY(whole(services, session)));
}

base::Result<Response> look_at_response(const Services& services, const Request& request) {
  const sessions::Session session = TRY(session_of_response(services, request));
  return json_answer(200, TRY(whole(services, session)));
}

base::Result<Response> cancel(const Services& services, const Request& request) {
  const sessions::Session session = TRY(session_of_response(services, request));
  const auto state = TRY(services.states.state_of(session));
  for (const sandbox::Run& run : state.active) {
    (void)TRY(services.runs.cancel(request.principal.id, run.run_id));
  }
  return json_answer(200, TRY(whole(services, session)));
}

base::Result<Response> remove_response(const Services& services, const Request& request) {
  const sessions::Session session = TRY(session_of_response(services, request));
  TRY(services.sessions.destroy(request.principal.id, session.id));
  return json_answer(200, {{"id", *session.name}, {"object", "response"}, {"deleted", true}});
}

base::Result<Response> list_files_of_response(const Services& services, const Request& request) {
  const sessions::Session session = TRY(session_of_response(services, request));
  json data = json::array();
  for (const auto& share : TRY(services.share_table.of_session(session.id))) {
    data.push_back(file_to_json(share));
  }
  return json_answer(200, {{"object", "list"}, {"data", std::move(data)}});
}

base::Result<Response> share_file(const Services& services, const Request& request,
                                  const Arguments& body) {
  const sessions::Session session = TRY(session_of_response(services, request));
  const auto files = TRY(files_of(services, session));
  const base::UniqueFd source = TRY(files.open(body.text("path")));
  share::PublishRequest wanted;
  wanted.session_id = session.id;
  wanted.principal_id = request.principal.id;
  wanted.source_path = body.text("path");
  wanted.filename = body.text("filename");
  wanted.expires_in_seconds = kExpirySeconds;
  return json_answer(200, file_to_json(TRY(services.share.publish(source.get(), wanted))));
}

base::Result<Response> content(const Services& services, const Request& request) {
  const sessions::Session session = TRY(session_of_response(services, request));
  const std::string& id = request.parameters.at("file");
  const auto share = services.share_table.find(request.principal.id, id);
  if (!share.ok() || share.value().session_id != session.id) {
    return base::error(Error::Kind::kNotFound, "there is no file " + id + " of this response");
  }
  Download download;
  download.file = TRY(services.share.open_stored(share.value()));
  download.bytes = share.value().bytes;
  download.filename = share.value().filename;
  download.etag = share.value().sha256;
  download.content_type = share.value().mime_type;
  return answer_with(request, std::move(download));
}

// {"error": {"type": "invalid_request", "code": 400, "message": "…"}}
Response response_refusal(int status, const std::string& message) {
  const char* type = "server_error";
  if (status == 401 || status == 403) type = "authentication_error";
  if (status == 400 || status == 413) type = "invalid_request";
  if (status == 404 || status == 405) type = "not_found";
  if (status == 429) type = "limit_exceeded";
  return json_answer(status, {{"error", {{"type", type}, {"code", status}, {"message", message}}}});
}

}  // namespace

std::vector<Route> response_routes(const Services& services) {
  const With with(services);
  const std::vector<Argument> post_body{
      {.name = "id", .least = 1, .most = 100},
      {.name = "call_id", .least = 1, .most = 100},
      {.name = "model", .most = 200},
      {.name = "input",
       .required = true,
       .least = 1,
       .most = sandbox::kCodeBytesMax,
       .is_content = true},
      {.name = "language", .values = languages_there(services.config)},
      {.name = "background", .type = Type::kBoolean},
      {.name = "timeout_seconds",
       .type = Type::kInteger,
       .least = 1,
       .most = sandbox::kRunSecondsMax}};
  const std::vector<Argument> share_body{
      {.name = "path", .required = true, .least = 1, .most = 4095},
      {.name = "filename", .most = 1000}};
  std::vector<Operation> operations{
      {"POST", "/v1/responses", with(create_response), post_body, true, Work::kCall},
      {"POST", "/v1/agent", with(create_response), post_body, true, Work::kCall},
      {"GET", "/v1/responses/{id}", with(look_at_response)},
      {"DELETE", "/v1/responses/{id}", with(remove_response), {}, true, Work::kCall},
      {"POST", "/v1/responses/{id}/cancel", with(cancel), {}, true, Work::kCall},
      {"GET", "/v1/responses/{id}/files", with(list_files_of_response)},
      {"POST", "/v1/responses/{id}/files", with(share_file), share_body, true, Work::kCall},
      {"GET", "/v1/responses/{id}/files/{file}/content", with(content)}};
  std::vector<Route> routes;
  for (Operation& operation : operations) {
    routes.push_back(route_of(std::move(operation), response_refusal));
  }
  return routes;
}

}  // namespace tools::api
