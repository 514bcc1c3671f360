// Questions as InputRequired carries them, and what comes back.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "mcp/call_context.h"

namespace conformance {

// A form with one text that is wanted.
nlohmann::json ask_for_text(const std::string& message, const std::string& field);
nlohmann::json ask_model(const std::string& prompt, int max_tokens);
nlohmann::json ask_for_roots();

// Returns what the user gave for `field`; nothing where the answer is none that can be used.
std::optional<std::string> given_text(const nlohmann::json& response, const std::string& field);
// Returns it from the answer with that key.
std::optional<std::string> given_text(const mcp::CallContext& context, const std::string& key,
                                      const std::string& field);

}  // namespace conformance
