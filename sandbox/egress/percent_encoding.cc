#include "sandbox/egress/percent_encoding.h"

#include <cctype>
#include <charconv>

namespace sandbox::egress {

std::string percent_encoded(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~') {
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
    unsigned byte = 0;
    const std::string_view digits = text.substr(std::min(text.size(), at + 1), 2);
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    const bool is_encoded =
        text[at] == '%' && digits.size() == 2 && failure == std::errc() && end == digits.data() + 2;
    decoded += is_encoded ? static_cast<char>(byte) : text[at];
    if (is_encoded) at += 2;
  }
  return decoded;
}

}  // namespace sandbox::egress
