// JSON with comments and commas at the end, by position.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tools/setup/document.h"

namespace tools::setup {

// As strict JSON of the same length: what is none of it is blank.
std::string strict_json(std::string text);

base::Result<Insertion> place_in_json(const std::string& text, const Keys& keys,
                                      const std::string& name, const nlohmann::ordered_json& entry);

// Without that member and one comma; empty: there is none.
std::string without_in_json(const std::string& text, const Keys& keys, const std::string& name);

}  // namespace tools::setup
