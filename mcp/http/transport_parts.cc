#include "mcp/http/transport_parts.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "mcp/http/door.h"
#include "mcp/http/status.h"

namespace mcp::http {
namespace {

std::string media_type(std::string_view text) {
  text = text.substr(0, text.find(';'));
  std::string type;
  for (const char byte : text) {
    if (byte == ' ' || byte == '\t') continue;
    type += base::lower(byte);
  }
  return type;
}

bool accepts(const Request& request, std::string_view group, std::string_view type) {
  const auto [begin, end] = request.headers.equal_range("Accept");
  for (auto header = begin; header != end; ++header) {
    std::string_view rest = header->second;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string one = media_type(rest.substr(0, comma));
      if (one == type || one == "*/*" || one == std::string(group) + "/*") return true;
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return false;
}

}  // namespace

Connection::Options connection_options(const TransportParts& parts, const Principal& principal) {
  Connection::Options options;
  options.principal = principal;
  if (parts.too_often) {
    options.too_often = [too_often = parts.too_often, id = principal.id] { return too_often(id); };
  }
  return options;
}

Response json_response(int status, const nlohmann::json& message) {
  Response response;
  response.status = status;
  response.content_type = "application/json";
  response.body = print(message);
  return response;
}

Response error_response(int status, RpcError error) {
  nlohmann::json message = make_error(std::move(error));
  if (message["id"].is_null()) message.erase("id");
  return json_response(status, message);
}

void add_retry_after(Response& response, int seconds) {
  response.headers.emplace_back("Retry-After", std::to_string(seconds));
}

Response refuse_for_now(const std::string& message) {
  Response response = refuse(kUnavailable, message);
  add_retry_after(response);
  return response;
}

Response answer_response(int status, const nlohmann::json& answer) {
  const auto error = answer.find("error");
  const auto data = error == answer.end() ? answer.end() : error->find("data");
  const bool later = error != answer.end() && data != error->end() && data->is_object() &&
                     data->contains(kRetryAfter);
  if (!later) return json_response(status, answer);
  Response response = json_response(kTooMany, answer);
  response.headers.emplace_back("Retry-After", data->at(kRetryAfter).dump());
  return response;
}

std::optional<Response> refuse_unauthorized(const TransportParts& parts, const Request& request,
                                            const Inbound& inbound) {
  if (!parts.authorize) return std::nullopt;
  for (const Inbound::Item& item : inbound.items) {
    const auto* message = std::get_if<Message>(&item);
    if (message == nullptr || message->kind != Message::Kind::kRequest) continue;
    if (const auto challenge = parts.authorize(request.principal, *message)) {
      return refuse(*challenge);
    }
  }
  return std::nullopt;
}

bool accepts_events(const Request& request) {
  return accepts(request, "text", "text/event-stream");
}

bool accepts_both(const Request& request) {
  return accepts_events(request) && accepts(request, "application", "application/json");
}

bool content_is_json(const Request& request) {
  return request.headers.count("Content-Type") == 1 &&
         media_type(request.header("Content-Type")) == "application/json";
}

}  // namespace mcp::http
