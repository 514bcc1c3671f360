// The Authorization header. https://www.rfc-editor.org/rfc/rfc6750
#pragma once

#include <cstddef>
#include <string_view>
#include <variant>

namespace mcp::auth {

// Signed tokens with many claims reach some kilobytes.
inline constexpr std::size_t kBearerBytesMax = 16 * 1024;

enum class NoBearer {
  kAbsent,     // no header, or one of another scheme
  kMalformed,  // the Bearer scheme, but no token as RFC 6750 has them
};

// Returns the token within `authorization`, the value of the header.
std::variant<std::string_view, NoBearer> read_bearer(std::string_view authorization);

}  // namespace mcp::auth
