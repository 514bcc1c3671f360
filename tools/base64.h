// Base64 as in RFC 4648 section 4, by OpenSSL.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/base/result.h"

namespace tools {

std::string to_base64(std::string_view bytes);

// kInvalid for anything but padded base64; line breaks are accepted.
base::Result<std::string> from_base64(std::string_view text);

}  // namespace tools
