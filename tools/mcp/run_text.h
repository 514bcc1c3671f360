// A run as text for a reader.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tools {

// Says whether the text names the session of the run: not where that is the connection's own.
enum class SessionName { kShown, kUnderstood };

// Returns the run as text for a reader, made from structured_run()'s result alone.
std::string text_of_run(const nlohmann::json& structured,
                        SessionName session_name = SessionName::kShown);

}  // namespace tools
