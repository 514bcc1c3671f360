// Schemas of arguments and of forms.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace conformance {

// An object whose properties are all wanted.
inline nlohmann::json object_schema(const nlohmann::json& properties) {
  nlohmann::json required = nlohmann::json::array();
  for (const auto& [name, schema] : properties.items()) required.push_back(name);
  return {{"type", "object"}, {"properties", properties}, {"required", required}};
}

// One text that is wanted.
inline nlohmann::json text_schema(const std::string& name, const std::string& description) {
  return object_schema({{name, {{"type", "string"}, {"description", description}}}});
}

}  // namespace conformance
