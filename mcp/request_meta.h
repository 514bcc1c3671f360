// These functions read what `params._meta` of a request says about the request itself.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include <nlohmann/json_fwd.hpp>

#include "mcp/call_context.h"
#include "base/json_value.h"
#include "mcp/message.h"
#include "mcp/wire/revision.h"

namespace mcp {

// A request of the 2026-07-28 era names its revision in _meta; one without the name is legacy.
bool claims_revision(const nlohmann::json& params);

struct ModernMeta {
  std::string claim;                     // the revision as the client wrote it
  const wire::Format* format = nullptr;  // null: not served, see unsupported_revision()
  ClientInfo client;
  base::JsonValue capabilities;       // the client's; an object
  std::optional<LogLevel> log_level;  // nothing: the client wants no log messages
};

// Reads the _meta of a request that claims a revision. Returns kInvalidParams when a required field
// is missing, or one has the wrong type; the id is the caller's to add.
std::variant<ModernMeta, RpcError> read_modern_meta(const nlohmann::json& params);

// Makes a kUnsupportedProtocolVersion that says which revisions are supported.
RpcError unsupported_revision(const std::string& claim);

// Reads an Implementation object; what is not there or no string becomes an empty string.
ClientInfo read_client_info(const nlohmann::json& implementation);

// Returns the W3C trace context, version 00, in lower case as it must be; empty when there is none
// like that.
std::string trace_parent(const nlohmann::json& params);

// Returns a string or an integer (0 is one); null when none was given.
nlohmann::json progress_token(const nlohmann::json& params);

}  // namespace mcp
