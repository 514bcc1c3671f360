// JSON-RPC 2.0 messages as MCP uses them: text to message, message to text. Plain functions, safe
// from any thread. https://www.jsonrpc.org/specification
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json_fwd.hpp>

#include "base/json_value.h"

namespace mcp {

inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
// These codes are of the 2026-07-28 revision.
inline constexpr int kHeaderMismatch = -32020;
inline constexpr int kMissingClientCapability = -32021;
inline constexpr int kUnsupportedProtocolVersion = -32022;

// These limits hold for a message. One that is nested too deep or has too many values is refused
// before anything is built of it.
inline constexpr int kJsonDepthMax = 64;
inline constexpr std::size_t kJsonValuesMax = 100'000;  // some 10 MiB of nodes at worst
inline constexpr std::size_t kIdBytesMax = 1024;
inline constexpr std::size_t kBatchMax = 100;

// It is in the data of an error that will pass, and in _meta of a result that says so: seconds
// after which to try again.
inline constexpr const char* kRetryAfter = "retryAfterSeconds";
// A call that is refused since too much waits may be tried again after this: by then some of it has
// been done.
inline constexpr int kRetryAfterSeconds = 1;

// Says what went wrong with a message, for the client that sent it.
struct RpcError {
  int code = kInternalError;
  std::string message;
  base::JsonValue data = nullptr;  // null: none
  base::JsonValue id = nullptr;    // the request's, when it could be read
};
RpcError with_id(RpcError error, const nlohmann::json& id);

struct Message {
  enum class Kind { kRequest, kNotification, kResponse };
  Kind kind = Kind::kRequest;
  base::JsonValue id;  // string or integer for a request, null for a notification; of a response
                       // null when it is no id
  std::string method;
  base::JsonValue params = base::JsonValue::object();  // always an object
  base::JsonValue result;                              // a response's; null for an error
  base::JsonValue error;                               // a response's; null for a result
};

// Returns whether it is a string of at most kIdBytesMax bytes, or an integer.
bool is_id(const nlohmann::json& value);

// Parses JSON text within the limits above. kParseError for what is no JSON or no UTF-8,
// kInvalidRequest for what is too deep or too large; the latter with its id, when it has one.
std::variant<nlohmann::json, RpcError> parse_json(std::string_view text);

// Reads one message out of parsed JSON that is no array. What has neither id nor reason to be
// answered (a notification with wrong params, a response with a wrong id) is no error.
std::variant<Message, RpcError> read_message(nlohmann::json value);

nlohmann::json make_result(const nlohmann::json& id, nlohmann::json result);
// Writes null as the id when the request's is not known.
nlohmann::json make_error(RpcError error);
nlohmann::json make_notification(const std::string& method, nlohmann::json params);

// Prints in one line; bytes that are no UTF-8 are replaced by U+FFFD.
std::string print(const nlohmann::json& message);

}  // namespace mcp
