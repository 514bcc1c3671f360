// TOML, to which a table is added at the end.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tools/setup/document.h"

namespace tools::setup {

base::Result<nlohmann::json> parse_toml(const std::string& text);

Insertion place_in_toml(const std::string& text, const Keys& keys, const std::string& name,
                        const nlohmann::ordered_json& entry);

}  // namespace tools::setup
