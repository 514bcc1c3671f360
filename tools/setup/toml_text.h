// TOML, to which a table is added at the end, and from which one is taken wherever it is.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tools/setup/document.h"

namespace tools::setup {

base::Result<nlohmann::json> parse_toml(const std::string& text);

Insertion place_in_toml(const std::string& text, const Keys& keys, const std::string& name,
                        const nlohmann::ordered_json& entry);

// Returns the text without that table and the tables below it. REQUIRES: the text can be parsed.
std::string without_in_toml(const std::string& text, const Keys& keys, const std::string& name);

}  // namespace tools::setup
