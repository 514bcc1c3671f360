// What `params._meta` of a request says about the request itself.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include <nlohmann/json_fwd.hpp>

#include "mcp/call_context.h"
#include "mcp/json_value.h"
#include "mcp/message.h"
#include "mcp/wire/revision.h"

namespace mcp {

// A request of the 2026-07-28 era names its revision in _meta; one without the name is legacy.
bool claims_revision(const nlohmann::json& params);

struct ModernMeta {
  std::string claim;                     // the revision as the client wrote it
  const wire::Format* format = nullptr;  // null: not served, see unsupported_revision()
  ClientInfo client;
  JsonValue capabilities;             // of the client; an object
  std::optional<LogLevel> log_level;  // nothing: the client wants no log messages
};

// Of a request that claims a revision: kInvalidParams when a required field is missing or has the
// wrong type. The id is the caller's to add.
std::variant<ModernMeta, RpcError> read_modern_meta(const nlohmann::json& params);

// kUnsupportedProtocolVersion with what is supported.
RpcError unsupported_revision(const std::string& claim);

// Of an Implementation object; empty strings for what is not there or no string.
ClientInfo read_client_info(const nlohmann::json& implementation);

// W3C trace context, version 00, in lower case as it must be; empty when there is none like that.
std::string trace_parent(const nlohmann::json& params);

// String or integer (0 is one); null when none was given.
nlohmann::json progress_token(const nlohmann::json& params);

}  // namespace mcp
