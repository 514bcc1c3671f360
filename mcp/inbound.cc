#include "mcp/inbound.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "mcp/half_characters.h"
#include "mcp/request_meta.h"

namespace mcp {

using nlohmann::json;

namespace {

// Returns whether halves of characters are only where a tool decides about them: in the arguments
// of its call.
bool has_halves_in_arguments_only(const json& message) {
  if (!has_half(message)) return true;
  if (!message.is_object() || message.value("method", json()) != "tools/call") return false;
  json rest = message;
  const json::json_pointer params("/params");
  if (!rest.contains(params) || !rest[params].is_object()) return false;
  rest[params].erase("arguments");
  return !has_half(rest);
}

std::variant<json, RpcError> parse(std::string_view text) {
  auto parsed = parse_json(text);
  const auto* error = std::get_if<RpcError>(&parsed);
  if (error == nullptr || error->code != kParseError) return parsed;
  auto again = parse_halves(text, [](std::string_view whole) -> std::optional<json> {
    auto value = parse_json(whole);
    if (auto* message = std::get_if<json>(&value)) return std::move(*message);
    return std::nullopt;
  });
  if (!again) return parsed;
  const bool is_taken =
      again->is_array() ? std::all_of(again->begin(), again->end(), has_halves_in_arguments_only)
                        : has_halves_in_arguments_only(*again);
  if (!is_taken) return parsed;
  return *std::move(again);
}

}  // namespace

std::variant<Inbound, RpcError> read_inbound(std::string_view text) {
  auto parsed = parse(text);
  if (auto* error = std::get_if<RpcError>(&parsed)) return std::move(*error);
  auto& value = std::get<json>(parsed);
  Inbound inbound;
  inbound.bytes = text.size();
  if (!value.is_array()) {
    auto read = read_message(std::move(value));
    if (auto* error = std::get_if<RpcError>(&read)) return std::move(*error);
    inbound.items.push_back(std::move(read));
    return inbound;
  }
  inbound.is_batch = true;
  if (value.size() > kBatchMax) {
    return RpcError{kInvalidRequest, "batch of more than 100 messages", nullptr, nullptr};
  }
  for (json& one : value) inbound.items.push_back(read_message(std::move(one)));
  return inbound;
}

bool has_modern_claim(const Inbound& inbound) {
  return std::any_of(inbound.items.begin(), inbound.items.end(), [](const Inbound::Item& item) {
    const auto* message = std::get_if<Message>(&item);
    return message != nullptr && claims_revision(message->params);
  });
}

}  // namespace mcp
