#include "mcp/http/header_value.h"

#include <algorithm>

#include "base/base64.h"
#include "base/text.h"

namespace mcp::http {
namespace {

constexpr std::string_view kBegin = "=?base64?";
constexpr std::string_view kEnd = "?=";

}  // namespace

bool is_text(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](unsigned char byte) {
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

std::optional<std::string> decode_header_value(std::string_view value) {
  value = base::trim(value);
  const bool encoded = value.size() >= kBegin.size() + kEnd.size() && value.starts_with(kBegin) &&
                       value.ends_with(kEnd);
  if (!encoded) return std::string(value);
  value.remove_prefix(kBegin.size());
  value.remove_suffix(kEnd.size());
  return base::from_base64(value);
}

}  // namespace mcp::http
