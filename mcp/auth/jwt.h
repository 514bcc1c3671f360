// A JSON Web Token, taken apart but not believed. https://www.rfc-editor.org/rfc/rfc7519, rfc7515
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mcp/auth/public_key.h"
#include "mcp/auth/refusal.h"
#include "base/json_value.h"

namespace mcp::auth {

struct Jwt {
  Algorithm algorithm = Algorithm::kRs256;
  std::optional<std::string> key_id;
  base::JsonValue claims;         // an object
  std::string_view signed_bytes;  // within the text it was decoded from
  std::string signature;
};

std::variant<Jwt, Refusal> decode_jwt(std::string_view text);

// An acceptable token names this issuer and this resource in its claims.
struct Expected {
  std::string issuer;
  std::string resource;  // among the audience, as canonical_resource() has it
};

// The clocks of the issuer and of this machine may be so far apart.
inline constexpr double kLeewaySeconds = 30;
inline constexpr std::size_t kSubjectBytesMax = 1024;

// Returns nothing when issuer, audience, times and subject are right. `now` in seconds since the
// epoch.
std::optional<Refusal> check_claims(const nlohmann::json& claims, const Expected& expected,
                                    double now);

// Returns the scopes granted: "scope", separated by spaces, or "scp", that or an array.
std::vector<std::string> scopes_of(const nlohmann::json& claims);

// Returns scheme and host in lower case, with no default port and no slash at the end: two
// spellings of one resource give the same.
std::string canonical_resource(std::string_view url);

}  // namespace mcp::auth
