#include "mcp/log_level.h"

#include <algorithm>
#include <array>
#include <string>

#include <nlohmann/json.hpp>

namespace mcp {
namespace {

constexpr std::array<const char*, 8> kNames{"debug", "info",     "notice", "warning",
                                            "error", "critical", "alert",  "emergency"};

}  // namespace

std::optional<LogLevel> read_log_level(const nlohmann::json& value) {
  if (!value.is_string()) return std::nullopt;
  const auto name = std::find(kNames.begin(), kNames.end(), value.get_ref<const std::string&>());
  if (name == kNames.end()) return std::nullopt;
  return static_cast<LogLevel>(name - kNames.begin());
}

const char* name_of(LogLevel level) { return kNames.at(static_cast<std::size_t>(level)); }

}  // namespace mcp
