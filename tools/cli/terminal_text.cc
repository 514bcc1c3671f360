#include "tools/cli/terminal_text.h"

#include <utility>

#include "base/utf8.h"
#include "tools/text_window.h"

namespace tools::cli {
namespace {

constexpr char kEscape = '\x1b';
constexpr std::size_t kSequenceBytesMax = 64;  // with colours of 24 bits for both sides
constexpr std::string_view kHexDigits = "0123456789ABCDEF";

void show_byte(unsigned char byte, std::string& shown) {
  shown += {'\\', 'x', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
}

void show_point(unsigned point, std::string& shown) {
  shown += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) shown += kHexDigits[(point >> shift) & 15];
}

// Only characters of two or three bytes are looked at; all others have 0.
unsigned point_of(std::string_view character) {
  const auto bits = [&](std::size_t i) { return static_cast<unsigned>(character[i] & 0x3f); };
  if (character.size() == 2) return static_cast<unsigned>(character[0] & 0x1f) << 6 | bits(1);
  if (character.size() != 3) return 0;
  return static_cast<unsigned>(character[0] & 0x0f) << 12 | bits(1) << 6 | bits(2);
}

// Embeddings, overrides and isolates have text shown in another order (UAX 9).
bool turns_text(unsigned point) {
  return (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

bool is_switched_off(std::string_view parameters) {
  return parameters.find_first_not_of("0;") == std::string_view::npos;
}

}  // namespace

std::string TerminalText::take(std::string_view piece) {
  const std::string text = std::exchange(waiting_, "") + std::string(piece);
  std::string shown;
  shown.reserve(text.size());
  for (std::string_view left = text; !left.empty();) {
    const std::size_t taken =
        left[0] == kEscape ? take_sequence(left, shown) : take_character(left, shown);
    if (taken == 0) {
      waiting_ = left;
      break;
    }
    left.remove_prefix(taken);
  }
  return shown;
}

std::string TerminalText::rest() {
  std::string shown;
  for (const char byte : std::exchange(waiting_, "")) {
    if (byte >= ' ' && byte < 0x7f) {
      shown += byte;
    } else {
      show_byte(static_cast<unsigned char>(byte), shown);
    }
  }
  return shown;
}

std::size_t TerminalText::take_sequence(std::string_view text, std::string& shown) {
  const std::string_view start = text.substr(0, kSequenceBytesMax);
  const bool is_begun = start.size() == 1 || start[1] == '[';
  const std::size_t end = is_begun ? start.find_first_not_of("0123456789;:", 2) : 1;
  if (is_begun && end == std::string_view::npos && start.size() < kSequenceBytesMax) return 0;
  const bool is_whole = is_begun && end != std::string_view::npos;
  const std::string_view parameters = is_whole ? start.substr(2, end - 2) : "";
  if (is_whole && start[end] == 'm') {
    is_coloured_ = !is_switched_off(parameters);
  } else if (!is_whole || start[end] != 'K' || parameters.size() > 1) {
    show_byte(static_cast<unsigned char>(kEscape), shown);
    return 1;
  }
  shown += start.substr(0, end + 1);
  return end + 1;
}

std::size_t TerminalText::take_character(std::string_view text, std::string& shown) const {
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte < 0x80) {
    const bool passes = (byte >= ' ' && byte != 0x7f) || byte == '\n' || byte == '\t' ||
                        (byte == '\r' && returns_ == Returns::kPass);
    if (passes) {
      shown += text[0];
    } else {
      show_byte(byte, shown);
    }
    return 1;
  }
  const std::size_t size = character_size(text);
  if (size == 0 && text.size() < 4 && whole_characters(text, text.size()) == 0) return 0;
  const unsigned point = point_of(text.substr(0, size));
  if (size == 0 || (size == 2 && point < 0xa0)) {
    show_byte(size == 0 ? byte : static_cast<unsigned char>(point), shown);
  } else if (turns_text(point)) {
    show_point(point, shown);
  } else {
    shown += text.substr(0, size);
  }
  return size == 0 ? 1 : size;
}

}  // namespace tools::cli
