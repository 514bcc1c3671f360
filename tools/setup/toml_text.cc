#include "tools/setup/toml_text.h"

#include <toml++/toml.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace tools::setup {

using base::Error;

base::Result<nlohmann::json> parse_toml(const std::string& text) {
  try {
    const toml::table table = toml::parse(text);
    std::ostringstream printed;
    printed << toml::json_formatter{table};
    return nlohmann::json::parse(printed.str());
  } catch (const toml::parse_error& failure) {
    return base::error(Error::Kind::kInvalid, "line " +
                                                  std::to_string(failure.source().begin.line) +
                                                  ": " + std::string(failure.description()));
  } catch (const nlohmann::json::exception& failure) {
    return base::error(Error::Kind::kInvalid, failure.what());  // nan, inf
  }
}

Insertion place_in_toml(const std::string& text, const Keys& keys, const std::string& name,
                        const nlohmann::ordered_json& entry) {
  const std::string line_end = text.find("\r\n") != std::string::npos ? "\r\n" : "\n";
  std::string added;
  if (!text.empty() && !text.ends_with('\n')) added += line_end;
  if (!text.empty()) added += line_end;
  added += "[";
  for (const std::string& key : keys) added += key + ".";
  added += name + "]" + line_end;
  // Its strings and arrays are written as JSON's are.
  for (const auto& [key, value] : entry.items()) {
    added += key + " = " + value.dump() + line_end;
  }
  return {text.size(), added};
}

}  // namespace tools::setup
