// Bytes in an address: RFC 3986 2.1 and 2.3.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace base {

// Encodes all bytes but the unreserved ones and those of `kept`.
std::string percent_encoded(std::string_view text, std::string_view kept = "");
// Decodes each encoded byte; a "%" that begins none stays as it is.
std::string percent_decoded(std::string_view text);
// Returns nothing where a "%" begins no encoded byte.
std::optional<std::string> whole_percent_decoded(std::string_view text);

}  // namespace base
