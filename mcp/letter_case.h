// Text that compares without regard to case, as names of headers, hosts, schemes and media types
// do. ASCII alone, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace mcp {

constexpr char lower(char byte) noexcept {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
}

inline std::string lower(std::string_view text) {
  std::string result(text);
  for (char& byte : result) byte = lower(byte);
  return result;
}

}  // namespace mcp
