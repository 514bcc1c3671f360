#include "mcp/client_capabilities.h"

#include <nlohmann/json.hpp>

namespace mcp {

using nlohmann::json;

namespace {

bool has(const json& object, const char* name) {
  if (!object.is_object()) return false;
  const auto member = object.find(name);
  return member != object.end() && member->is_object();
}

bool is_url_mode(const json& params) {
  const auto mode = params.find("mode");
  return mode != params.end() && *mode == "url";
}

json needs(const char* name, json inner = json::object()) { return {{name, std::move(inner)}}; }

json missing_for_elicitation(const json& declared, const json& params) {
  if (is_url_mode(params)) {
    const bool url = has(declared, "elicitation") && has(declared["elicitation"], "url");
    return url ? json(nullptr) : needs("elicitation", needs("url"));
  }
  if (!has(declared, "elicitation")) return needs("elicitation");
  // Declared without modes, as before there were any, it means forms.
  const json& modes = declared["elicitation"];
  const bool form = has(modes, "form") || !has(modes, "url");
  return form ? json(nullptr) : needs("elicitation", needs("form"));
}

}  // namespace

json missing_capability(const json& declared, const std::string& method, const json& params) {
  if (method == "elicitation/create") return missing_for_elicitation(declared, params);
  if (method == "roots/list") return has(declared, "roots") ? json(nullptr) : needs("roots");
  if (method != "sampling/createMessage") return json::object();
  if (!has(declared, "sampling")) return needs("sampling");
  if (params.contains("tools") && !has(declared["sampling"], "tools")) {
    return needs("sampling", needs("tools"));
  }
  return nullptr;
}

bool has_extension(const json& declared, const std::string& name) {
  return has(declared, "extensions") && has(declared["extensions"], name.c_str());
}

}  // namespace mcp
