#include "base/shortened_text.h"

#include <algorithm>

#include "base/utf8.h"

namespace base {
namespace {

// The line between head and tail, without its hint.
constexpr std::size_t kGapCharacters = 60;
constexpr std::size_t kEchoedCharacters = 100;

std::size_t printed_byte(char character) {
  const auto byte = static_cast<unsigned char>(character);
  if (continues_character(character)) return 0;  // of a character that is counted already
  if (byte >= 0x20) return character == '"' || character == '\\' ? 2 : 1;
  return std::string_view("\b\t\n\f\r").find(character) != std::string_view::npos ? 2 : 6;
}

// Where the longest suffix of whole characters begins that prints as at most `characters_max`.
std::size_t start_of_tail(std::string_view text, std::size_t characters_max) {
  std::size_t start = text.size();
  std::size_t used = 0;
  for (std::size_t i = text.size(); i > 0; --i) {
    used += printed_byte(text[i - 1]);
    if (used > characters_max) break;
    if (!continues_character(text[i - 1])) start = i - 1;
  }
  return start;
}

}  // namespace

std::size_t printed_characters(std::string_view text) {
  std::size_t characters = 0;
  for (const char byte : text) characters += printed_byte(byte);
  return characters;
}

std::size_t printed_prefix(std::string_view text, std::size_t characters_max) {
  std::size_t used = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    used += printed_byte(text[i]);
    if (used > characters_max) return i;
  }
  return text.size();
}

std::string shortened(std::string_view text, std::size_t characters_max, std::string_view hint,
                      std::size_t total_bytes) {
  if (printed_prefix(text, characters_max) == text.size()) return std::string(text);
  const std::size_t gap = kGapCharacters + printed_characters(hint);
  const std::size_t room = characters_max - std::min(gap, characters_max);
  const std::size_t head = printed_prefix(text, room / 4 * 3);
  const std::size_t tail = std::max(start_of_tail(text, room / 4), head);
  const std::size_t missing = std::max(text.size(), total_bytes) - head - (text.size() - tail);
  return std::string(text.substr(0, head)) + "\n... " + std::to_string(missing) +
         " bytes left out" + std::string(hint) + " ...\n" + std::string(text.substr(tail));
}

std::string echoed(std::string_view text) {
  return std::string(text.substr(0, printed_prefix(text, kEchoedCharacters)));
}

}  // namespace base
