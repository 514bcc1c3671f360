#include "base/text.h"

#include <algorithm>

namespace base {

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), [](char byte) { return lower(byte); });
  return small;
}

std::string_view trim(std::string_view text, std::string_view blanks) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> split_at_ends(std::string_view text, char end) {
  std::vector<std::string_view> pieces = split(text, end);
  if (pieces.back().empty()) pieces.pop_back();
  return pieces;
}

std::vector<std::string> words_of(std::string_view text, char separator) {
  std::vector<std::string> words;
  for (const std::string_view piece : split(text, separator)) {
    const std::string_view word = trim(piece, " \t\r\n");
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

void append_part(std::string& list, std::string_view part, std::string_view separator) {
  if (!list.empty()) list += separator;
  list += part;
}

std::string name_of_path(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string quoted_for_shell(std::string_view word) {
  std::string quoted = "'";
  for (const char letter : word) {
    if (letter == '\'') {
      quoted += "'\\''";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

std::string in_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace base
