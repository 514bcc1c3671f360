// Text of a file that is not UTF-8, but is text: what Windows and spreadsheets write. iconv(3)
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

// Returns "utf-16le" or "utf-16be", by the mark that such a file begins with or where Latin letters
// are most of it, "utf-8" for what would be that but for a few bytes, "cp1252" for what has no byte
// but those of letters and of plain text, nor looks like another alphabet's or East Asia's; nothing
// for all else. `beginning` is no UTF-8.
std::optional<std::string> charset_of(std::string_view beginning);

// Returns other charsets in which `beginning`, which is none of the above, makes sense, by the
// names that Python has for them, the likeliest first; none for what has bytes of no text.
std::vector<std::string> possible_charsets_of(std::string_view beginning);

// Returns as much of `bytes`, which begin at `offset` of their file, as makes whole characters, as
// UTF-8; what is none in "utf-8" is U+FFFD. `used` is how many bytes that were. Nothing where they
// are not of this charset.
std::optional<std::string> decoded(const std::string& charset, std::string_view bytes,
                                   std::size_t offset, std::size_t& used);

}  // namespace tools
