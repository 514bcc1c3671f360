#include "mcp/half_characters.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace mcp {

using nlohmann::json;

namespace {

constexpr std::size_t kEscapeBytes = 6;  // \uD83D
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Characters that no text has to have (Unicode, section 23.7): one of them marks the places while
// the text is parsed.
constexpr unsigned kFirstMark = 0xFDD0;
constexpr unsigned kLastMark = 0xFDEF;

// The code unit that an escape at `at` stands for; nothing where there is none.
std::optional<unsigned> unit_at(std::string_view text, std::size_t at) {
  const std::string_view escape = text.substr(std::min(at, text.size()), kEscapeBytes);
  if (escape.size() < kEscapeBytes || escape[0] != '\\' || escape[1] != 'u') return std::nullopt;
  return base::number_of<unsigned>(escape.substr(2), 16);
}

bool is_high(std::optional<unsigned> unit) { return unit && *unit >= 0xD800 && *unit <= 0xDBFF; }
bool is_low(std::optional<unsigned> unit) { return unit && *unit >= 0xDC00 && *unit <= 0xDFFF; }

struct Mark {
  std::string bytes;   // in UTF-8
  std::string escape;  // in lower case
};

Mark mark_of(unsigned unit) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  Mark mark{"\xEF\xB7", "\\ufd"};
  mark.bytes += static_cast<char>(0x80U | (unit & 0x3FU));
  mark.escape += kDigits[unit >> 4U & 0xFU];
  mark.escape += kDigits[unit & 0xFU];
  return mark;
}

// One that is not in the text, be it as an escape.
std::optional<Mark> free_mark(std::string_view text) {
  const std::string lowered = base::lower(text);
  for (unsigned unit = kFirstMark; unit <= kLastMark; ++unit) {
    Mark mark = mark_of(unit);
    const bool is_used = lowered.find(mark.bytes) != std::string::npos ||
                         lowered.find(mark.escape) != std::string::npos;
    if (!is_used) return mark;
  }
  return std::nullopt;
}

// Returns the text with the mark's escape in place of each of a lone surrogate; nothing when it has
// none.
std::optional<std::string> marked(std::string_view text, const Mark& mark) {
  std::string whole;
  bool has_replaced = false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t bytes = 1;
    if (text[at] == '\\') {
      const auto unit = unit_at(text, at);
      const bool is_pair = is_high(unit) && is_low(unit_at(text, at + kEscapeBytes));
      bytes = is_pair ? 2 * kEscapeBytes : unit ? kEscapeBytes : 2;
      if (!is_pair && (is_high(unit) || is_low(unit))) {
        whole += mark.escape;
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

std::string with_each_replaced(std::string text, std::string_view old, std::string_view other) {
  for (std::size_t at = text.find(old); at != std::string::npos;
       at = text.find(old, at + other.size())) {
    text.replace(at, old.size(), other);
  }
  return text;
}

void put_halves(json& value, const std::string& mark) {
  if (value.is_string()) {
    auto& text = value.get_ref<std::string&>();
    text = with_each_replaced(std::move(text), mark, kHalfCharacter);
  } else if (value.is_array()) {
    for (json& entry : value) put_halves(entry, mark);
  } else if (value.is_object()) {
    json members = json::object();
    for (const auto& [name, member] : value.items()) {
      put_halves(member, mark);
      members[with_each_replaced(name, mark, kHalfCharacter)] = std::move(member);
    }
    value = std::move(members);
  }
}

}  // namespace

std::optional<json> parse_halves(std::string_view text, const JsonParser& parse) {
  const auto mark = free_mark(text);
  if (!mark) return std::nullopt;
  const auto whole = marked(text, *mark);
  if (!whole) return std::nullopt;
  auto value = parse(*whole);
  if (value) put_halves(*value, mark->bytes);
  return value;
}

bool has_half(const json& value) {
  const auto is_in = [](const std::string& text) {
    return text.find(kHalfCharacter) != std::string::npos;
  };
  if (value.is_string()) return is_in(value.get_ref<const std::string&>());
  if (value.is_array()) return std::any_of(value.begin(), value.end(), has_half);
  if (!value.is_object()) return false;
  const auto members = value.items();
  return std::any_of(members.begin(), members.end(), [&is_in](const auto& member) {
    return is_in(member.key()) || has_half(member.value());
  });
}

std::string with_replaced_halves(const std::string& text) {
  return with_each_replaced(text, kHalfCharacter, kReplacement);
}

}  // namespace mcp
