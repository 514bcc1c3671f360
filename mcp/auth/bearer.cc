#include "mcp/auth/bearer.h"

#include <algorithm>
#include <string>

#include "base/text.h"

namespace mcp::auth {
namespace {

constexpr std::string_view kScheme = "bearer";
constexpr std::string_view kTokenBytes =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/";

// b64token: at least one of its bytes, then any number of '='.
bool is_token(std::string_view text) {
  const std::size_t end = text.find_first_not_of(kTokenBytes);
  if (end == 0 || text.empty()) return false;
  return end == std::string_view::npos ||
         text.find_first_not_of('=', end) == std::string_view::npos;
}

}  // namespace

std::variant<std::string_view, NoBearer> read_bearer(std::string_view authorization) {
  const std::size_t end = std::min(authorization.find(' '), authorization.size());
  const std::string_view scheme = authorization.substr(0, end);
  if (scheme.size() != kScheme.size() ||
      !std::equal(scheme.begin(), scheme.end(), kScheme.begin(),
                  [](char a, char b) { return base::lower(a) == b; })) {
    return NoBearer::kAbsent;
  }
  std::string_view token = authorization.substr(end);
  token.remove_prefix(std::min(token.find_first_not_of(' '), token.size()));
  if (token.size() > kBearerBytesMax || !is_token(token)) return NoBearer::kMalformed;
  return token;
}

}  // namespace mcp::auth
