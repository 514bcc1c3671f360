#include "mcp/http/door.h"

#include <array>
#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "mcp/message.h"

namespace mcp::http {
namespace {

constexpr std::array<std::string_view, 3> kOwnNames{"localhost", "127.0.0.1", "[::1]"};
constexpr const char* kMethods = "GET, POST, PATCH, DELETE, OPTIONS";
constexpr std::array<std::string_view, 14> kRequestHeaders{
    "content-type",    "accept",        "authorization",  "mcp-protocol-version",
    "mcp-method",      "mcp-name",      "mcp-session-id", "last-event-id",
    "x-api-key",       "tus-resumable", "upload-length",  "upload-offset",
    "upload-metadata", "x-request-id"};
constexpr std::string_view kParameterHeader = "mcp-param-";
constexpr const char* kExposed =
    "Mcp-Session-Id, WWW-Authenticate, Location, Upload-Offset, Upload-Length, Tus-Resumable, "
    "X-Request-Id";
constexpr const char* kPreflightSeconds = "600";

// Without the port.
std::string host_name(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon != host.npos && host.find(']', colon) == host.npos) host = host.substr(0, colon);
  return base::lower(host);
}

bool is_own_name(const std::string& name) { return base::contains(kOwnNames, name); }

// Returns the headers that a script may send: all known ones, and each Mcp-Param-* that it wants
// to.
std::string allowed_headers(std::string_view wanted) {
  std::string allowed = base::join(kRequestHeaders);
  for (const std::string_view piece : base::split(wanted, ',')) {
    std::string name = base::lower(piece);
    std::erase(name, ' ');
    if (name.starts_with(kParameterHeader)) base::append_part(allowed, name);
  }
  return allowed;
}

}  // namespace

std::string host_label(std::string_view host) {
  const std::string name = host_name(host);
  const std::size_t digits = name.find_first_not_of("0123456789");
  const std::size_t dot = name.find('.');
  if (digits == 0 || digits == name.npos || name[digits] != '-' || dot == name.npos) return "";
  return name.substr(0, dot);
}

namespace {

bool name_is_allowed(const DoorNames& names, const std::string& name) {
  return is_own_name(name) || base::contains(names.allow_hosts, name);
}

bool host_is_allowed(const DoorNames& names, const Request& request) {
  if (names.any_host) return true;
  if (request.headers.count("Host") != 1) return false;
  const std::string name = host_name(request.header("Host"));
  const std::string label = host_label(name);
  return name_is_allowed(names, label.empty() ? name : name.substr(label.size() + 1));
}

// Below a name that is ours: any other may lead here as well, and its pages are its owner's.
bool label_is_allowed(const DoorNames& names, const std::string& host) {
  const std::string name = host_name(host);
  const std::string label = host_label(name);
  return !label.empty() && name_is_allowed(names, name.substr(label.size() + 1));
}

bool origin_is_allowed(const DoorNames& names, const Request& request) {
  const auto [begin, end] = request.headers.equal_range("Origin");
  if (begin == end) return true;  // no browser
  if (std::next(begin) != end) return false;
  if (base::contains(names.allow_origins, begin->second)) return true;
  const std::string host(request.header("Host"));
  // A page of a session's own server: its origin is no other's.
  const bool has_label = label_is_allowed(names, host);
  if (has_label && begin->second == "https://" + host) return true;
  // Forms of such a page send this when it says nothing of itself; no script can write
  // Sec-Fetch-Site.
  if (has_label && begin->second == "null" && request.header("Sec-Fetch-Site") == "same-origin") {
    return true;
  }
  // Over http, such a page is allowed, too, and one of this very server, as seen from this machine.
  return (has_label || is_own_name(host_name(host))) && begin->second == "http://" + host;
}

}  // namespace

namespace {

nlohmann::json error_without_id(int code, const std::string& message) {
  nlohmann::json error = make_error({code, message, nullptr, nullptr});
  error.erase("id");
  return error;
}

Response json_response(int status, const nlohmann::json& body) {
  Response response;
  response.status = status;
  response.content_type = "application/json";
  response.body = print(body);
  return response;
}

}  // namespace

Response refuse(int status, int code, const std::string& message) {
  return json_response(status, error_without_id(code, message));
}

Response refuse_path(const std::string& message) {
  constexpr int kNotFound = 404;
  nlohmann::json body = error_without_id(kTransportError, message);
  body.update({{"code", kNotFound}, {"message", message}});
  return json_response(kNotFound, body);
}

Response refuse(int status, const std::string& message) {
  return refuse(status, kTransportError, message);
}

Response refuse(const auth::Challenge& challenge) {
  Response response = refuse(challenge.status, challenge.message);
  if (!challenge.www_authenticate.empty()) {
    response.headers.emplace_back("WWW-Authenticate", challenge.www_authenticate);
  }
  return response;
}

Door::Door(DoorOptions options)
    : authenticate_(std::move(options.authenticate)),
      names_(std::make_shared<const DoorNames>(std::move(options))) {}

void Door::change_names(DoorNames names) {
  auto changed = std::make_shared<const DoorNames>(std::move(names));
  const std::lock_guard lock(mutex_);
  names_ = std::move(changed);
}

std::shared_ptr<const DoorNames> Door::names() const {
  const std::lock_guard lock(mutex_);
  return names_;
}

bool Door::check_place(const Request& request, Response& refusal, bool any_host) const {
  const auto known = names();
  if (!any_host && !host_is_allowed(*known, request)) {
    refusal = refuse(403, "this Host is not served here");
    return false;
  }
  if (!origin_is_allowed(*known, request)) {
    refusal = refuse(403, "this Origin is not allowed: the operator can with --allow-origin");
    return false;
  }
  if (request.method != "OPTIONS") return true;
  refusal = {};
  refusal.status = 204;
  refusal.headers = {{"Allow", kMethods}};
  if (base::contains(known->allow_origins, request.header("Origin"))) {
    refusal.headers.emplace_back("Access-Control-Allow-Methods", kMethods);
    refusal.headers.emplace_back("Access-Control-Allow-Headers",
                                 allowed_headers(request.header("Access-Control-Request-Headers")));
    refusal.headers.emplace_back("Access-Control-Max-Age", kPreflightSeconds);
  }
  return false;
}

std::optional<auth::Challenge> Door::check_token(Request& request) const {
  if (request.headers.count("Authorization") + request.headers.count("X-API-Key") > 1) {
    return auth::Challenge{400, "", "more than one header says who asks"};
  }
  // Where other APIs have it.
  const std::string_view key = request.header("X-API-Key");
  auto decision = authenticate_(key.empty() ? std::string(request.header("Authorization"))
                                            : "Bearer " + std::string(key));
  if (auto* principal = std::get_if<Principal>(&decision)) {
    request.principal = std::move(*principal);
    return std::nullopt;
  }
  return std::get<auth::Challenge>(std::move(decision));
}

void Door::add_cross_origin(const Request& request, Response& response) const {
  const std::string_view origin = request.header("Origin");
  if (!base::contains(names()->allow_origins, origin)) return;
  response.headers.emplace_back("Access-Control-Allow-Origin", origin);
  response.headers.emplace_back("Access-Control-Expose-Headers", kExposed);
  response.headers.emplace_back("Vary", "Origin");
}

}  // namespace mcp::http
