// Base64 as in RFC 4648 section 4.
#pragma once

#include <string>
#include <string_view>

#include "mcp/base64.h"
#include "sandbox/base/result.h"

namespace tools {

using mcp::to_base64;

// kInvalid for anything but padded base64; line breaks are accepted.
base::Result<std::string> from_base64(std::string_view text);

}  // namespace tools
