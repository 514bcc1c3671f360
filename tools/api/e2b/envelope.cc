#include "tools/api/e2b/envelope.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "mcp/half_characters.h"
#include "tools/api/api.h"
#include "tools/arguments.h"

namespace tools::api::e2b {

using base::Error;
using nlohmann::json;

namespace {

constexpr std::size_t kEnvelopeBytes = 5;

// Cuts the first message off, with its envelope.
base::Result<std::string_view> next_message(std::string_view& body) {
  std::size_t size = 0;
  for (std::size_t at = 1; at < kEnvelopeBytes && at < body.size(); ++at) {
    size = size << 8U | static_cast<unsigned char>(body[at]);
  }
  if (body.size() < kEnvelopeBytes || body[0] != 0 || size > body.size() - kEnvelopeBytes) {
    return base::error(Error::Kind::kInvalid, "the body is not messages, each in its envelope");
  }
  const std::string_view message = body.substr(kEnvelopeBytes, size);
  body.remove_prefix(kEnvelopeBytes + size);
  return message;
}

// Arguments and variables of a process are content; all else of a message are names.
void replace_halves_of_process(json& process) {
  for (const char* key : {"args", "envs"}) {
    const auto given = process.find(key);
    if (given == process.end() || !given->is_structured()) continue;
    for (json& text : *given) {
      if (text.is_string()) text = mcp::with_replaced_halves(text.get_ref<const std::string&>());
    }
  }
}

}  // namespace

std::string enveloped(unsigned char flags, const json& message) {
  const std::string text = base::print_json(message);
  std::string bytes(1, static_cast<char>(flags));
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes += static_cast<char>((text.size() >> static_cast<unsigned>(shift)) & 0xffU);
  }
  return bytes + text;
}

base::Result<json> parse_message(std::string_view text) {
  auto parsed = parse_body(text.empty() ? "{}" : text);
  if (!parsed.ok() || !parsed.value().is_object()) {
    return base::error(Error::Kind::kInvalid, "the message must be a JSON object");
  }
  json& message = parsed.value();
  if (!mcp::has_half(message)) return parsed;
  if (message.contains("process") && message["process"].is_object()) {
    replace_halves_of_process(message["process"]);
  }
  for (const auto& [name, member] : message.items()) {
    if (mcp::has_half(name) || mcp::has_half(member)) return half_in_name(name);
  }
  return parsed;
}

base::Result<std::vector<json>> messages_in(std::string_view body) {
  std::vector<json> messages;
  while (!body.empty()) {
    if (messages.size() == kMessagesMost) {
      return base::error(Error::Kind::kLimit,
                         "the body is more than " + std::to_string(kMessagesMost) + " messages");
    }
    const std::string_view message = TRY(next_message(body));
    messages.push_back(TRY(parse_message(message)));
  }
  return messages;
}

}  // namespace tools::api::e2b
