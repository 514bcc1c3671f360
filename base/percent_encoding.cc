#include "base/percent_encoding.h"

#include <cctype>
#include <cstdint>

#include "base/text.h"

namespace base {
namespace {

// Returns the byte that is encoded at the start of `text`, if one is.
std::optional<char> byte_at(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return std::nullopt;
  const auto byte = number_of<std::uint8_t>(text.substr(1, 2), 16);
  return byte ? std::optional(static_cast<char>(*byte)) : std::nullopt;
}

}  // namespace

std::string percent_encoded(std::string_view text, std::string_view kept) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~' ||
        kept.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return encoded;
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = byte_at(text.substr(at));
    decoded += byte.value_or(text[at]);
    if (byte) at += 2;
  }
  return decoded;
}

std::optional<std::string> whole_percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = byte_at(text.substr(at));
    if (!byte && text[at] == '%') return std::nullopt;
    decoded += byte.value_or(text[at]);
    if (byte) at += 2;
  }
  return decoded;
}

}  // namespace base
