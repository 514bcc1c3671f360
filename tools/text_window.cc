#include "tools/text_window.h"

#include <algorithm>

#include "base/utf8.h"

namespace tools {

// RFC 3629, section 4, has the table.
std::size_t character_size(std::string_view bytes) {
  const auto at = [&bytes](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || bytes.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if (!base::continues_character(bytes[i])) return 0;
  }
  if (lead == 0xe0 && at(1) < 0xa0) return 0;  // overlong
  if (lead == 0xed && at(1) > 0x9f) return 0;  // surrogates
  if (lead == 0xf0 && at(1) < 0x90) return 0;  // overlong
  if (lead == 0xf4 && at(1) > 0x8f) return 0;  // above U+10FFFF
  return size;
}

std::string to_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t size = character_size(bytes);
    if (size == 0) {
      text += "\xef\xbf\xbd";
      bytes.remove_prefix(1);
    } else {
      text += bytes.substr(0, size);
      bytes.remove_prefix(size);
    }
  }
  return text;
}

std::string without_fraction(const std::string& rfc3339) {
  const std::size_t point = rfc3339.find('.');
  return point == std::string::npos ? rfc3339 : rfc3339.substr(0, point) + "Z";
}

std::string last_states(std::string_view text) {
  std::string seen;
  seen.reserve(text.size());
  while (!text.empty()) {
    std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    const std::size_t last = line.find_last_not_of("\r\n");
    const std::size_t over = last == line.npos ? line.npos : line.rfind('\r', last);
    if (over != line.npos) line.remove_prefix(over + 1);
    seen += line;
  }
  return seen;
}

namespace {

struct Repeat {
  std::size_t block_bytes = 0;
  std::size_t lines = 1;  // in the block
  std::size_t more = 0;   // how often it comes again
};

// Returns the block of lines at the beginning that comes again most usefully, or the first line.
Repeat repeat_at(std::string_view text) {
  constexpr std::size_t kLinesMost = 3;       // a warning is two: what is wrong, and where
  constexpr std::size_t kBytesLeast = 1'000;  // fewer repeated bytes are shown as they are
  const std::size_t first = std::min(text.find('\n'), text.size() - 1) + 1;
  std::size_t end = 0;
  for (std::size_t lines = 1; lines <= kLinesMost; ++lines) {
    end = text.find('\n', end);
    if (end == text.npos) break;
    const std::string_view block = text.substr(0, ++end);
    if (block.find_first_not_of('\n') == block.npos) continue;
    std::size_t more = 0;
    while (text.substr(end * (more + 1)).starts_with(block)) ++more;
    if (more * end >= kBytesLeast) return {end, lines, more};
  }
  return {first, 1, 0};
}

}  // namespace

std::string with_repeats_counted(std::string_view text) {
  std::string counted;
  while (!text.empty()) {
    const Repeat repeat = repeat_at(text);
    counted += text.substr(0, repeat.block_bytes);
    text.remove_prefix(repeat.block_bytes * (repeat.more + 1));
    if (repeat.more == 0) continue;
    counted += repeat.lines == 1 ? "... the same line "
                                 : "... the same " + std::to_string(repeat.lines) + " lines ";
    counted += std::to_string(repeat.more) + " times more ...\n";
  }
  return counted;
}

std::string left_out_line(std::size_t bytes) {
  return "\n... " + std::to_string(bytes) + " bytes left out ...\n";
}

std::string one_line(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string line;
  for (std::size_t at = 0; at < text.size(); ++at) {
    auto byte = static_cast<unsigned char>(text[at]);
    // U+0080 to U+009F, which terminals know as control characters too.
    const bool second_set =
        byte == 0xc2 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xa0;
    if (second_set) byte = static_cast<unsigned char>(text[++at]);
    if (byte == '\n') {
      line += "\\n";
    } else if (byte == '\t') {
      line += "\\t";
    } else if (byte < 0x20 || byte == 0x7f || second_set) {
      line += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      line += static_cast<char>(byte);
    }
  }
  return line;
}

std::size_t whole_characters(std::string_view bytes, std::size_t bytes_max) {
  if (bytes.size() <= bytes_max) {
    // The end may be the middle of a character whose rest is yet to be written.
    std::size_t start = bytes.size();
    while (start > 0 && bytes.size() - start < 3 && base::continues_character(bytes[start - 1]))
      --start;
    if (start == 0) return bytes.size();
    const auto lead = static_cast<unsigned char>(bytes[start - 1]);
    const std::size_t wanted = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return bytes.size() - (start - 1) < wanted ? start - 1 : bytes.size();
  }
  std::size_t end = bytes_max;
  for (int steps = 0; end > 0 && steps < 3 && base::continues_character(bytes[end]); ++steps) --end;
  return base::continues_character(bytes[end]) ? bytes_max : end;
}

std::size_t broken_start(std::string_view bytes) {
  std::size_t count = 0;
  while (count < bytes.size() && count < 3 && base::continues_character(bytes[count])) ++count;
  return count;
}

Shares share_room(std::size_t first_size, std::size_t second_size, std::size_t total) {
  const std::size_t half = total / 2;
  if (first_size + second_size <= total) return {first_size, second_size};
  if (first_size <= half) return {first_size, total - first_size};
  if (second_size <= half) return {total - second_size, second_size};
  return {half, half};
}

}  // namespace tools
