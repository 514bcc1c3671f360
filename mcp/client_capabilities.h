// These functions say what a client must have declared before it may be asked something.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace mcp {

// Returns the capabilities that `declared` lacks for a request of this method, as an object for
// data.requiredCapabilities; null when it lacks none. A method no client can be asked counts as
// lacking: the object is empty then.
nlohmann::json missing_capability(const nlohmann::json& declared, const std::string& method,
                                  const nlohmann::json& params);

// Returns whether the client declared an extension, as in capabilities.extensions.
bool has_extension(const nlohmann::json& declared, const std::string& name);

}  // namespace mcp
