#include "mcp/handlers.h"

#include <nlohmann/json.hpp>

namespace mcp {

using nlohmann::json;

RpcError wrong_params(std::string message) {
  return {kInvalidParams, std::move(message), nullptr, nullptr};
}

const std::string* find_text(const json& object, const char* name) {
  const auto member = object.find(name);
  if (member == object.end() || !member->is_string()) return nullptr;
  return &member->get_ref<const std::string&>();
}

std::optional<std::string> cursor_of(const json& params) {
  const auto cursor = params.find("cursor");
  if (cursor == params.end() || cursor->is_null()) return "";
  // The empty one was never given out.
  if (!cursor->is_string() || cursor->get_ref<const std::string&>().empty()) return std::nullopt;
  return cursor->get<std::string>();
}

}  // namespace mcp
