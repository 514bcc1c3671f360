// JSON with comments and commas at the end, by position.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tools/setup/document.h"

namespace tools::setup {

// Returns strict JSON of the same length: what is none of it is blank.
std::string strict_json(std::string text);

base::Result<Insertion> place_in_json(const std::string& text, const Keys& keys,
                                      const std::string& name, const nlohmann::ordered_json& entry);

// Returns the text without that member and one comma, or as it is where there is none.
std::string without_in_json(const std::string& text, const Keys& keys, const std::string& name);

}  // namespace tools::setup
