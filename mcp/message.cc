#include "mcp/message.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "mcp/json_scan.h"

namespace mcp {

using nlohmann::json;

namespace {

RpcError invalid(const char* message, json id = nullptr) {
  return {kInvalidRequest, message, nullptr, std::move(id)};
}

// Takes the member out of an object; nothing when it is not there.
std::optional<json> take(json& object, const char* name) {
  const auto member = object.find(name);
  if (member == object.end()) return std::nullopt;
  return std::move(*member);
}

}  // namespace

RpcError with_id(RpcError error, const json& id) {
  error.id = id;
  return error;
}

bool is_id(const json& value) {
  if (value.is_number_integer()) return true;
  return value.is_string() && value.get_ref<const std::string&>().size() <= kIdBytesMax;
}

std::variant<json, RpcError> parse_json(std::string_view text) {
  // Scanned first: the parser would build a node for each of millions of brackets.
  JsonScan scan;
  scan.feed(text);
  if (scan.too_deep()) return invalid("message is nested too deep", scan.id());
  if (scan.too_many_values()) return invalid("message has too many values", scan.id());
  json value = json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) {
    return RpcError{kParseError, "message is not JSON in UTF-8", nullptr, scan.id()};
  }
  return value;
}

std::variant<Message, RpcError> read_message(json value) {
  if (!value.is_object()) return invalid("message is not an object");
  Message message;
  const auto id = take(value, "id");
  if (id && is_id(*id)) message.id = *id;
  auto method = take(value, "method");
  if (!method && (value.contains("result") || value.contains("error"))) {
    // Never answered, however wrong: two peers could answer each other's errors for ever.
    message.kind = Message::Kind::kResponse;
    message.result = take(value, "result").value_or(nullptr);
    message.error = take(value, "error").value_or(nullptr);
    return message;
  }
  const auto version = take(value, "jsonrpc");
  if (!version || *version != "2.0") return invalid("jsonrpc must be \"2.0\"", message.id);
  if (!method || !method->is_string()) return invalid("method must be a string", message.id);
  message.method = std::move(method->get_ref<std::string&>());
  message.kind = id ? Message::Kind::kRequest : Message::Kind::kNotification;
  if (id && message.id->is_null()) {
    return invalid("id must be an integer or a string of at most 1024 bytes");
  }
  auto params = take(value, "params");
  if (!params || params->is_null()) return message;
  if (params->is_object()) {
    message.params = std::move(*params);
  } else if (id) {
    return RpcError{kInvalidParams, "params must be an object", nullptr, message.id};
  }
  return message;
}

json make_result(const json& id, json result) {
  json message = {{"jsonrpc", "2.0"}, {"id", id}};
  message["result"] = std::move(result);
  return message;
}

json make_error(RpcError error) {
  json body = {{"code", error.code}, {"message", std::move(error.message)}};
  if (!error.data->is_null()) body["data"] = std::move(*error.data);
  json message = {{"jsonrpc", "2.0"}, {"id", std::move(*error.id)}};
  message["error"] = std::move(body);
  return message;
}

json make_notification(const std::string& method, json params) {
  json message = {{"jsonrpc", "2.0"}, {"method", method}};
  message["params"] = std::move(params);
  return message;
}

std::string print(const json& message) { return base::print_json(message); }

}  // namespace mcp
