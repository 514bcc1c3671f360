// Bytes in an address: RFC 3986 2.1 and 2.3.
#pragma once

#include <string>
#include <string_view>

namespace sandbox::egress {

// All but the unreserved ones.
std::string percent_encoded(std::string_view text);
// What is no encoding stays as it is.
std::string percent_decoded(std::string_view text);

}  // namespace sandbox::egress
