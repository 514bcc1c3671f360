#include "tools/api/e2b/connect.h"

#include <any>
#include <cerrno>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/random_id.h"
#include "sandbox/limits.h"
#include "sessions/host_id.h"
#include "sessions/session.h"
#include "sessions/session_time.h"
#include "sessions/session_tokens.h"
#include "tools/api/e2b/envelope.h"
#include "tools/api/e2b/reader.h"
#include "tools/api/e2b/signature.h"
#include "tools/api/json_answer.h"
#include "tools/log_members.h"

namespace tools::api::e2b {

using base::Error;
using mcp::http::Request;
using mcp::http::Response;
using mcp::http::Route;
using nlohmann::json;

namespace {

constexpr std::size_t kMessageBytesMax = std::size_t{2} * sandbox::kCodeBytesMax;
constexpr std::size_t kMessagesBytesMax = std::size_t{16} << 20;

const char* code_of(const Error& error) {
  if (error.os_errno == ETIMEDOUT) return "deadline_exceeded";
  switch (error.kind) {
    case Error::Kind::kInvalid:
      return "invalid_argument";
    case Error::Kind::kNotFound:
      return "not_found";
    case Error::Kind::kLimit:
      return "resource_exhausted";
    case Error::Kind::kConflict:
      return "already_exists";
    case Error::Kind::kUnsupported:
      return "unimplemented";
    case Error::Kind::kUnavailable:
    case Error::Kind::kCapacity:
      return "unavailable";
    case Error::Kind::kInternal:
      return "internal";
  }
  return "internal";
}

json error_view(const Error& error) {
  return {{"code", code_of(error)}, {"message", words_of(error)}};
}

// The one message of a request.
base::Result<json> message_in(const Request& request) {
  if (!request.header("Content-Type").starts_with("application/connect+json")) {
    return parse_message(request.body);
  }
  std::vector<json> messages = TRY(messages_in(request.body));
  if (messages.size() == 1) return std::move(messages.front());
  return base::error(Error::Kind::kInvalid, "the body is not one message");
}

Response refused_status(int status, const std::string& message) {
  const char* code = "internal";
  if (status == 400) code = "invalid_argument";
  if (status == 401) code = "unauthenticated";
  if (status == 404) code = "not_found";
  if (status == 405 || status == 415) code = "unimplemented";
  if (status == 413 || status == 429) code = "resource_exhausted";
  if (status == 503) code = "unavailable";
  return json_answer(status, {{"code", code}, {"message", message}});
}

Route route_of(const Services& services, const char* path, Route::Work work) {
  Route route;
  route.method = "POST";
  route.path = path;
  route.access = Route::Access::kPublic;
  route.identify = identified_by(services, session_of);
  route.refusal = refused_status;
  route.work = work;
  route.body_bytes = kMessageBytesMax;
  return route;
}

// A header says which, or, of a URL that stands alone, the host: "49983-ses_k2..".
std::string sandbox_named_in(const Request& request) {
  const std::string_view named = request.header("E2b-Sandbox-Id");
  if (!named.empty()) return sessions::session_id_of(named);
  const std::string_view host = request.header("Host");
  const std::size_t dash = host.find('-');
  if (dash == std::string_view::npos) return "";
  return sessions::session_id_of(host.substr(dash + 1, host.find('.', dash) - dash - 1));
}

std::string access_token_in(const Request& request) {
  const std::string_view token = request.header("X-Access-Token");
  return std::string(token.empty() ? request.header("E2B-Traffic-Access-Token") : token);
}

base::Result<sessions::Session> session_with(const Services& services, const std::string& id,
                                             const std::string& token) {
  auto session = services.tokens.session_by(id, token);
  if (session.ok() && sessions::lifetime_is_over(session.value())) {
    return base::error(Error::Kind::kNotFound, "the sandbox has ended");
  }
  if (session.ok()) LogMembers::set("session", session.value().id);
  return session;
}

using Identified = std::shared_ptr<const sessions::Session>;

// Returns the session that identified_by() has found for this request; null when it was not asked.
const sessions::Session* identified_in(const Request& request) {
  const auto* known = std::any_cast<Identified>(&request.identified);
  if (known == nullptr) return nullptr;
  LogMembers::set("session", (*known)->id);  // the thread that answers may be another one
  return known->get();
}

}  // namespace

std::string words_of(const Error& error) {
  const bool is_too_many =
      error.kind == Error::Kind::kLimit && error.os_errno == sandbox::kTooManyInBackground;
  if (!is_too_many) return error.message;
  return "this sandbox already has " + std::to_string(sandbox::kBackgroundRunsMax) +
         " commands and terminals: end one of them first, by commands.kill or pty.kill";
}

Response refused(const Error& error) {
  return with_retry_after(error, json_answer(status_of(error), error_view(error)));
}

bool names_sandbox(const Request& request) {
  return base::is_short_id(sandbox_named_in(request), "session_");
}

base::Result<sessions::Session> session_of(const Services& services, const Request& request) {
  if (const auto* known = identified_in(request)) return *known;
  return session_with(services, sandbox_named_in(request), access_token_in(request));
}

base::Result<sessions::Session> session_of_file(const Services& services, const Request& request) {
  if (const auto* known = identified_in(request)) return *known;
  const std::string token = access_token_in(request);
  if (!token.empty() || !request.query.contains("signature")) return session_of(services, request);
  const auto found = request.parameters.find(kFoundSandbox);
  const std::string id =
      found == request.parameters.end() ? sandbox_named_in(request) : found->second;
  const auto right = services.tokens.token_of(id);
  if (!right.ok()) return wrong_signature();
  TRY(check_signature(request, right.value()));
  return session_with(services, id, right.value());
}

bool has_key(const Request& request) { return !access_token_in(request).empty(); }

std::function<std::optional<mcp::auth::Challenge>(Request& head)> identified_by(
    const Services& services, decltype(session_of)* which) {
  const bool takes_signature = which == session_of_file;
  return [&services, which, takes_signature](Request& head) -> std::optional<mcp::auth::Challenge> {
    if (!has_key(head) && !(takes_signature && head.query.contains("signature"))) {
      return mcp::auth::Challenge{401, "", kKeyNeeded};
    }
    const auto session = which(services, head);
    if (!session.ok()) {
      return mcp::auth::Challenge{status_of(session.error()), "", session.error().message};
    }
    head.principal = {session.value().principal_id, {}};
    head.identified = std::make_shared<const sessions::Session>(session.value());
    return std::nullopt;
  };
}

Route unary(const Services& services, const char* path,
            std::function<base::Result<json>(const RpcCall&)> answer, Route::Work work) {
  Route route = route_of(services, path, work);
  route.answer = [&services, answer = std::move(answer)](const Request& request) {
    const auto answered = [&]() -> base::Result<json> {
      const sessions::Session session = TRY(session_of(services, request));
      const json message = TRY(message_in(request));
      return answer({request, session, message});
    }();
    return answered.ok() ? json_answer(200, answered.value()) : refused(answered.error());
  };
  return route;
}

Route client_stream(
    const Services& services, const char* path,
    std::function<base::Result<json>(const RpcCall&, const std::vector<json>&)> answer) {
  Route route = route_of(services, path, Route::Work::kCall);
  route.body_bytes = kMessagesBytesMax;
  route.answer = [&services, answer = std::move(answer)](const Request& request) {
    const auto answered = [&]() -> base::Result<json> {
      const sessions::Session session = TRY(session_of(services, request));
      const std::vector<json> messages = TRY(messages_in(request.body));
      const json none = json::object();
      return answer({request, session, none}, messages);
    }();
    // As a stream of one message and the end.
    json last = json::object();
    if (!answered.ok()) last["error"] = error_view(answered.error());
    Response response;
    response.content_type = "application/connect+json";
    if (answered.ok()) response.body = enveloped(0, answered.value());
    response.body += enveloped(kEndOfStream, last);
    return response;
  };
  return route;
}

Route server_stream(const Services& services, const char* path,
                    std::function<base::Status(const RpcCall&, const Send&)> stream) {
  Route route = route_of(services, path, Route::Work::kCall);
  route.answer = [&services, stream = std::move(stream)](const Request& request) {
    Response response;
    response.content_type = "application/connect+json";
    response.start_stream = [&services, stream,
                             request](const std::shared_ptr<mcp::http::Stream>& out) {
      const std::stop_token gone = gone_of(*out);
      const Send send = [&out](const json& message) {
        return out->send_patiently(enveloped(0, message));
      };
      const auto ended = [&]() -> base::Status {
        const sessions::Session session = TRY(session_of(services, request));
        const json message = TRY(message_in(request));
        return stream({request, session, message, gone}, send);
      }();
      json last = json::object();
      if (!ended.ok()) last["error"] = error_view(ended.error());
      (void)out->send_patiently(enveloped(kEndOfStream, last));
      out->close();
    };
    return response;
  };
  return route;
}

}  // namespace tools::api::e2b
