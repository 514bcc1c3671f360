#include "mcp/http/header_value.h"

#include <algorithm>

#include "mcp/base64.h"

namespace mcp::http {
namespace {

constexpr std::string_view kBegin = "=?base64?";
constexpr std::string_view kEnd = "?=";

}  // namespace

std::string_view trim(std::string_view value) {
  constexpr std::string_view kSpace = " \t";
  const std::size_t begin = value.find_first_not_of(kSpace);
  if (begin == value.npos) return {};
  return value.substr(begin, value.find_last_not_of(kSpace) - begin + 1);
}

bool is_text(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](unsigned char byte) {
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

std::optional<std::string> decode_header_value(std::string_view value) {
  value = trim(value);
  const bool encoded = value.size() >= kBegin.size() + kEnd.size() && value.starts_with(kBegin) &&
                       value.ends_with(kEnd);
  if (!encoded) return std::string(value);
  value.remove_prefix(kBegin.size());
  value.remove_suffix(kEnd.size());
  return from_base64(value);
}

}  // namespace mcp::http
