#include "mcp/http/header_value.h"

#include <cstdint>

namespace mcp::http {
namespace {

constexpr std::string_view kBegin = "=?base64?";
constexpr std::string_view kEnd = "?=";
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t kGroup = 4;  // characters for up to three bytes

// One group of four characters, of which `used` are no padding. False: no base64.
bool decode_group(std::string_view group, std::size_t used, std::string& bytes) {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < kGroup; ++i) {
    const std::size_t value = i < used ? kAlphabet.find(group[i]) : 0;
    if (value == kAlphabet.npos) return false;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
  }
  const std::size_t count = used - 1;
  for (std::size_t i = 0; i < kGroup - 1; ++i) {
    const char byte = static_cast<char>(bits >> (16 - 8 * i) & 0xff);
    if (i < count) {
      bytes += byte;
    } else if (byte != 0) {
      return false;
    }
  }
  return true;
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % kGroup != 0) return std::nullopt;
  std::string bytes;
  for (; !text.empty(); text.remove_prefix(kGroup)) {
    std::size_t used = kGroup;
    if (text.size() == kGroup && text.ends_with('=')) used = text.ends_with("==") ? 2 : 3;
    if (!decode_group(text, used, bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace

std::string_view trim(std::string_view value) {
  constexpr std::string_view kSpace = " \t";
  const std::size_t begin = value.find_first_not_of(kSpace);
  if (begin == value.npos) return {};
  return value.substr(begin, value.find_last_not_of(kSpace) - begin + 1);
}

std::optional<std::string> decode_header_value(std::string_view value) {
  value = trim(value);
  const bool encoded = value.size() >= kBegin.size() + kEnd.size() && value.starts_with(kBegin) &&
                       value.ends_with(kEnd);
  if (!encoded) return std::string(value);
  value.remove_prefix(kBegin.size());
  value.remove_suffix(kEnd.size());
  return decode_base64(value);
}

}  // namespace mcp::http
