// Identifiers that cannot be guessed.
#pragma once

#include <string>
#include <string_view>

namespace base {

// Returns `prefix` and 128 bits of getrandom(2) as 32 hexadecimal digits.
std::string random_id(std::string_view prefix);

// Returns whether random_id(prefix) can have made `text`. Check before an id becomes part of a
// path.
bool is_random_id(std::string_view text, std::string_view prefix);

// `prefix` and 60 bits as 12 digits and small letters, for what models read and write again and
// again, and a principal is asked for with: "run_7k2m9c0xq4ht".
std::string short_id(std::string_view prefix);

// Returns whether short_id(prefix) can have made `text`, or random_id(prefix): state directories
// have older ids like that.
bool is_short_id(std::string_view text, std::string_view prefix);

}  // namespace base
