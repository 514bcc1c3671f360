// A session as clients see it: structuredContent, and the same as text.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "sessions/manager.h"

namespace tools {

nlohmann::json structured_session(const sessions::SessionState& state);
// The same after it was to be paused: what had nothing running says so.
nlohmann::json structured_pause(const sessions::SessionState& state);
// How much is said of limits and isolation: nothing; what is not as in any session; all.
enum class Detail { kNone, kUnusual, kWhole };
std::string text_of_session(const nlohmann::json& structured, Detail detail = Detail::kWhole);

}  // namespace tools
