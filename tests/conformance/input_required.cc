#include "tests/conformance/input_required.h"

#include <nlohmann/json.hpp>

#include "tests/conformance/content.h"
#include "tests/conformance/schemas.h"

namespace conformance {

using nlohmann::json;

json ask_for_text(const std::string& message, const std::string& field) {
  return {{"method", "elicitation/create"},
          {"params",
           {{"mode", "form"},
            {"message", message},
            {"requestedSchema", object_schema({{field, {{"type", "string"}}}})}}}};
}

json ask_model(const std::string& prompt, int max_tokens) {
  const json message = {{"role", "user"}, {"content", text_block(prompt)}};
  return {{"method", "sampling/createMessage"},
          {"params", {{"messages", json::array({message})}, {"maxTokens", max_tokens}}}};
}

json ask_for_roots() { return {{"method", "roots/list"}, {"params", json::object()}}; }

std::optional<std::string> given_text(const json& response, const std::string& field) {
  if (!response.is_object() || response.value("action", json()) != "accept") return std::nullopt;
  const json content = response.value("content", json());
  if (!content.is_object()) return std::nullopt;
  const auto given = content.find(field);
  if (given == content.end() || !given->is_string()) return std::nullopt;
  return given->get<std::string>();
}

std::optional<std::string> given_text(const mcp::CallContext& context, const std::string& key,
                                      const std::string& field) {
  return given_text(context.input_responses().value(key, json()), field);
}

}  // namespace conformance
