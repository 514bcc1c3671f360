// Text that has to fit a result, measured as the JSON in which it will stand.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace base {

// Returns how many characters `text`, which is UTF-8, has inside a JSON string: escaped ones count
// as they are escaped.
std::size_t printed_characters(std::string_view text);

// Returns the bytes of the longest prefix of whole characters that prints as at most
// `characters_max`.
std::size_t printed_prefix(std::string_view text, std::size_t characters_max);

// Returns `text` itself when it fits, else its head and tail around a line that says how much is
// missing; `hint` ends that line. `characters_max` is at least 100 and the length of `hint`.
// `total_bytes` is the size of the text that this one was already cut from, in its middle; with
// anything below its own size it counts as whole.
std::string shortened(std::string_view text, std::size_t characters_max, std::string_view hint = "",
                      std::size_t total_bytes = 0);

// Returns as much of a caller's own text, which is UTF-8, as an error repeats.
std::string echoed(std::string_view text);

}  // namespace base
