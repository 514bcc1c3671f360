// A session as clients see it: structuredContent, and the same as text.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "sessions/session_state.h"

namespace tools {

nlohmann::json structured_session(const sessions::SessionState& state);
// Returns structured_session() as a list has it: with those limits alone that are not as in any
// session.
nlohmann::json structured_in_list(const sessions::SessionState& state);
// Returns structured_session() of a session that was to be paused; one that had nothing running
// says so.
nlohmann::json structured_pause(const sessions::SessionState& state);
// Says how much is told of limits and isolation: nothing; what is not as in any session; all.
enum class Detail { kNone, kUnusual, kWhole };
std::string text_of_session(const nlohmann::json& structured, Detail detail = Detail::kWhole);

}  // namespace tools
