// Bytes in an address: RFC 3986 2.1 and 2.3.
#pragma once

#include <string>
#include <string_view>

namespace sandbox::egress {

// Encodes all bytes but the unreserved ones.
std::string percent_encoded(std::string_view text);
// Decodes each encoded byte; a "%" that begins none stays as it is.
std::string percent_decoded(std::string_view text);

}  // namespace sandbox::egress
