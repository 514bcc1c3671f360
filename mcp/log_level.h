// A LogLevel says how grave a log message to a client is. RFC 5424 section 6.2.1, the least grave
// first.
#pragma once

#include <optional>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace mcp {

enum class LogLevel { kDebug, kInfo, kNotice, kWarning, kError, kCritical, kAlert, kEmergency };

// Returns nothing for what names no level.
std::optional<LogLevel> read_log_level(const nlohmann::json& value);
const char* name_of(LogLevel level);

}  // namespace mcp
