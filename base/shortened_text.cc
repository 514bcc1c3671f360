#include "base/shortened_text.h"

#include <algorithm>

#include "base/utf8.h"

namespace base {
namespace {

// The line between head and tail, without its hint.
constexpr std::size_t kGapCharacters = 60;
constexpr std::size_t kEchoedCharacters = 100;
// A number or a name is mostly shorter.
constexpr std::size_t kWordBytes = 40;

std::size_t printed_byte(char character) {
  const auto byte = static_cast<unsigned char>(character);
  if (continues_character(character)) return 0;  // its character is counted already
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

bool is_of_word(char character) {
  const bool is_letter = (character >= 'a' && character <= 'z') ||
                         (character >= 'A' && character <= 'Z') ||
                         (character >= '0' && character <= '9');
  return is_letter || std::string_view("._+-,").find(character) != std::string_view::npos;
}

// Returns whether the place is within a number or a name, half of which could be taken for another
// one.
bool splits_word(std::string_view text, std::size_t place) {
  return place > 0 && place < text.size() && is_of_word(text[place - 1]) && is_of_word(text[place]);
}

// The nearest place before `head`, or behind `tail`, that splits none; the same where that is far.
std::size_t before_word(std::string_view text, std::size_t head) {
  std::size_t place = head;
  while (splits_word(text, place) && head - place < kWordBytes) --place;
  return splits_word(text, place) ? head : place;
}

std::size_t behind_word(std::string_view text, std::size_t tail) {
  std::size_t place = tail;
  while (splits_word(text, place) && place - tail < kWordBytes) ++place;
  return splits_word(text, place) ? tail : place;
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
  const std::size_t head = before_word(text, printed_prefix(text, room / 4 * 3));
  const std::size_t tail = behind_word(text, std::max(start_of_tail(text, room / 4), head));
  const std::size_t missing = std::max(text.size(), total_bytes) - head - (text.size() - tail);
  return std::string(text.substr(0, head)) + "\n... " + std::to_string(missing) +
         " bytes left out" + std::string(hint) + " ...\n" + std::string(text.substr(tail));
}

std::string echoed(std::string_view text) {
  return std::string(text.substr(0, printed_prefix(text, kEchoedCharacters)));
}

}  // namespace base
