// YAML, in which an entry is written as the JSON that it also is.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tools/setup/document.h"

namespace tools::setup {

// Scalars are strings.
base::Result<nlohmann::json> parse_yaml(const std::string& text);

base::Result<Insertion> place_in_yaml(const std::string& text, const Keys& keys,
                                      const std::string& name, const nlohmann::ordered_json& entry);

// Returns the text without the lines of that entry, in a map of one entry a line,
// or as it is where there is none.
std::string without_in_yaml(const std::string& text, const Keys& keys, const std::string& name);

}  // namespace tools::setup
