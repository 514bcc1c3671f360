// Base64 as JSON Web Tokens have it: without padding.
// https://www.rfc-editor.org/rfc/rfc4648#section-5
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mcp::auth {

// Nothing for what an encoder cannot have made: other bytes, padding, bits left over that are set.
std::optional<std::string> from_base64url(std::string_view text);

}  // namespace mcp::auth
