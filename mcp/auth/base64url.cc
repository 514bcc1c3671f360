#include "mcp/auth/base64url.h"

#include <cstdint>

namespace mcp::auth {

std::optional<std::string> from_base64url(std::string_view text) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (const char digit : text) {
    const std::size_t value = kDigits.find(digit);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 6 | static_cast<std::uint32_t>(value)) & 0xFFFF;
    bit_count += 6;
    if (bit_count < 8) continue;
    bit_count -= 8;
    bytes += static_cast<char>(bits >> bit_count & 0xFF);
  }
  const bool whole = bit_count < 6 && (bits & ((1U << bit_count) - 1)) == 0;
  return whole ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace mcp::auth
