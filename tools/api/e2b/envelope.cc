#include "tools/api/e2b/envelope.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

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
  auto parsed = base::parse_json(text.empty() ? "{}" : text);
  if (parsed.ok() && parsed.value().is_object()) return parsed;
  return base::error(Error::Kind::kInvalid, "the message must be a JSON object");
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
