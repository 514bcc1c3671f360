#include "mcp/message.h"

#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "mcp/json_scan.h"

namespace mcp {

using nlohmann::json;

namespace {

constexpr std::size_t kEscapeBytes = 6;  // \uXXXX

RpcError invalid(const char* message, json id = nullptr) {
  return {kInvalidRequest, message, nullptr, std::move(id)};
}

// Takes the member out of an object; nothing when it is not there.
std::optional<json> take(json& object, const char* name) {
  const auto member = object.find(name);
  if (member == object.end()) return std::nullopt;
  return std::move(*member);
}

// The code unit of UTF-16 that an escape at `at` stands for; nothing: there is no such escape.
std::optional<unsigned> escaped_unit(std::string_view text, std::size_t at) {
  if (text.size() < at + kEscapeBytes || text[at] != '\\' || text[at + 1] != 'u')
    return std::nullopt;
  unsigned unit = 0;
  const char* end = text.data() + at + kEscapeBytes;
  const auto read = std::from_chars(text.data() + at + 2, end, unit, 16);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return unit;
}

bool is_surrogate(unsigned unit, unsigned first) { return unit >= first && unit < first + 0x400; }

// The same text, with U+FFFD for each half of a character whose other half is missing.
std::string without_lone_surrogates(std::string_view text) {
  constexpr unsigned kHigh = 0xd800;
  constexpr unsigned kLow = 0xdc00;
  std::string mended;
  for (std::size_t at = 0; at < text.size();) {
    const auto unit = escaped_unit(text, at);
    std::size_t size = unit ? kEscapeBytes : text[at] == '\\' ? 2 : 1;
    if (unit && is_surrogate(*unit, kHigh)) {
      const auto next = escaped_unit(text, at + kEscapeBytes);
      if (next && is_surrogate(*next, kLow)) size = 2 * kEscapeBytes;
    }
    const bool is_lone =
        unit && size == kEscapeBytes && (is_surrogate(*unit, kHigh) || is_surrogate(*unit, kLow));
    mended += is_lone ? "\\ufffd" : text.substr(at, size);
    at += size;
  }
  return mended;
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
    // Clients that cut text in the middle of a character send halves of it.
    if (const std::string mended = without_lone_surrogates(text); mended != text) {
      value = json::parse(mended, /*cb=*/nullptr, /*allow_exceptions=*/false);
    }
  }
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

std::string print(const json& message) {
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace mcp
