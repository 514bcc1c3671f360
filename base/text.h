// Small operations on text that every layer needs. They know ASCII alone, whatever the locale.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace base {

constexpr char lower(char byte) noexcept {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
}
std::string lower(std::string_view text);

// Returns `text` without the bytes of `blanks` that it begins and ends with.
std::string_view trim(std::string_view text, std::string_view blanks = " \t");

// Returns the pieces between the separators, empty ones too: one more than there are separators.
std::vector<std::string_view> split(std::string_view text, char separator);

// Returns the pieces that an `end` ends each, empty ones too, and what is behind the last one where
// that is not empty: the lines of a text, for one.
std::vector<std::string_view> split_at_ends(std::string_view text, char end = '\n');

// Returns the pieces between the separators, without blanks and ends of lines around them and
// without those that are empty then.
std::vector<std::string> words_of(std::string_view text, char separator = ' ');

// Appends `part` to `list`, behind a separator where the list is not empty.
void append_part(std::string& list, std::string_view part, std::string_view separator = ", ");

// Returns `parts`, which may be any range of texts, with a separator between two.
std::string join(const auto& parts, std::string_view separator = ", ") {
  std::string list;
  for (const auto& part : parts) append_part(list, part, separator);
  return list;
}

// Returns whether `wanted` is one of `texts`, which may be any range of them.
bool contains(const auto& texts, std::string_view wanted) {
  return std::find(std::begin(texts), std::end(texts), wanted) != std::end(texts);
}

// Returns what is behind the last "/"; all of a path that has none.
std::string name_of_path(const std::string& path);

// Returns the word as a POSIX shell takes it, whatever is in it.
std::string quoted_for_shell(std::string_view word);

// Returns two lower-case digits for each byte.
std::string in_hex(std::string_view bytes);

// Returns the number that the whole of `text` is; nothing when anything else stands in it, a space
// or a plus sign too, or when it is beyond the type.
template <std::integral Number>
std::optional<Number> number_of(std::string_view text, int radix = 10) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, number, radix);
  if (failure != std::errc() || stopped != end) return std::nullopt;
  return number;
}

}  // namespace base
