#include "mcp/half_characters.h"

#include <cstddef>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "mcp/message.h"

namespace mcp {
namespace {

constexpr std::size_t kEscapeBytes = 6;  // \uD83D
constexpr std::string_view kReplacementEscape = "\\ufffd";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The code unit that an escape at `at` stands for; nothing where there is none.
std::optional<unsigned> unit_at(std::string_view text, std::size_t at) {
  const std::string_view escape = text.substr(std::min(at, text.size()), kEscapeBytes);
  if (escape.size() < kEscapeBytes || escape[0] != '\\' || escape[1] != 'u') return std::nullopt;
  return base::number_of<unsigned>(escape.substr(2), 16);
}

bool is_high(std::optional<unsigned> unit) { return unit && *unit >= 0xD800 && *unit <= 0xDBFF; }
bool is_low(std::optional<unsigned> unit) { return unit && *unit >= 0xDC00 && *unit <= 0xDFFF; }

}  // namespace

std::optional<std::string> with_whole_characters(std::string_view text) {
  std::string whole;
  bool has_replaced = false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t bytes = 1;
    if (text[at] == '\\') {
      const auto unit = unit_at(text, at);
      const bool is_pair = is_high(unit) && is_low(unit_at(text, at + kEscapeBytes));
      bytes = is_pair ? 2 * kEscapeBytes : unit ? kEscapeBytes : 2;
      if (!is_pair && (is_high(unit) || is_low(unit))) {
        whole += kReplacementEscape;
        has_replaced = true;
        at += bytes;
        continue;
      }
    }
    whole += text.substr(at, bytes);
    at += bytes;
  }
  if (!has_replaced) return std::nullopt;
  return whole;
}

bool only_code_is_replaced(nlohmann::json arguments) {
  if (!arguments.is_object()) return false;
  arguments.erase("code");
  return print(arguments).find(kReplacement) == std::string::npos;
}

}  // namespace mcp
