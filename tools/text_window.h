// Output as a client gets it: whole, or head and tail, never cut inside a character.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tools {

// A list may take so many characters of a result, printed.
inline constexpr std::size_t kListCharacters = 58'000;

// Bytes that are no UTF-8 become U+FFFD each. NUL and other control characters stay.
std::string to_utf8(std::string_view bytes);

// Returns the length of the valid character of UTF-8 at the start of `bytes`, of which there is one
// at least; 0 when there is none.
std::size_t character_size(std::string_view bytes);

// Returns the text for one line: control characters, with which a name could forge other lines or
// steer a terminal, become \n, \t or \xHH.
std::string one_line(std::string_view text);

// Returns a time of base::to_rfc3339() without what is behind its seconds, as texts have it.
std::string without_fraction(const std::string& rfc3339);

// Returns what is left to see of lines that were written over, as a progress bar is: what follows
// the last carriage return in each. Those at the end of a line stay.
std::string last_states(std::string_view text);

// Returns the text with lines that are the same as the one before, or as the two or three before,
// only counted, where they are many.
std::string with_repeats_counted(std::string_view text);

// Returns how much of what may be shown is the beginning.
constexpr std::size_t head_share(std::size_t bytes_max) { return bytes_max / 10 * 4; }

// Returns the line between head and tail.
std::string left_out_line(std::size_t bytes);
// Bytes that this line has at most.
inline constexpr std::size_t kLeftOutLineBytes = 50;

// Returns the size of the longest prefix of at most `bytes_max` bytes that does not end inside a
// character.
std::size_t whole_characters(std::string_view bytes, std::size_t bytes_max);

// Returns how many bytes at the start of `bytes` are the rest of a character that began earlier.
std::size_t broken_start(std::string_view bytes);

// Says how many bytes each of two streams may show when both together may show `total`: a short one
// leaves its room to the other.
struct Shares {
  std::size_t first;
  std::size_t second;
};
Shares share_room(std::size_t first_size, std::size_t second_size, std::size_t total);

}  // namespace tools
