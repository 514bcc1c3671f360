#include "mcp/inbound.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "mcp/half_characters.h"
#include "mcp/request_meta.h"

namespace mcp {

using nlohmann::json;

namespace {

bool only_code_of_a_call_is_replaced(json message) {
  if (!message.is_object() || message.value("method", json()) != "tools/call") return false;
  const json::json_pointer arguments("/params/arguments");
  if (!message.contains(arguments) || !message[arguments].is_object()) return false;
  message[arguments].erase("code");
  return only_code_is_replaced(std::move(message));
}

std::variant<json, RpcError> parse(std::string_view text) {
  auto parsed = parse_json(text);
  const auto* error = std::get_if<RpcError>(&parsed);
  if (error == nullptr || error->code != kParseError) return parsed;
  const auto whole = with_whole_characters(text);
  if (!whole) return parsed;
  auto again = parse_json(*whole);
  const auto* message = std::get_if<json>(&again);
  return message != nullptr && only_code_of_a_call_is_replaced(*message) ? std::move(again)
                                                                         : std::move(parsed);
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
