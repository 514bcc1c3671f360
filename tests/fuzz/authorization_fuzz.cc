// Reads what a stranger sends before anything else of a request is read: the Authorization header,
// the token within, and the parts of that.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "mcp/auth/bearer.h"
#include "mcp/auth/jwt.h"
#include "mcp/auth/key_source.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto bearer = mcp::auth::read_bearer(bytes);
  if (const auto* token = std::get_if<std::string_view>(&bearer)) {
    require(!token->empty() && token->size() <= mcp::auth::kBearerBytesMax);
    require(token->find_first_of(" \",\\\r\n") == std::string_view::npos);
    const auto decoded = mcp::auth::decode_jwt(*token);
    if (const auto* jwt = std::get_if<mcp::auth::Jwt>(&decoded)) {
      require(jwt->claims->is_object());
      (void)mcp::auth::scopes_of(jwt->claims);
      (void)mcp::auth::check_claims(jwt->claims, {"https://i", "https://r/mcp"}, 1e9);
    }
  }
  if (const auto text = base::from_base64url(bytes)) require(text->size() == size * 3 / 4);
  const std::string resource = mcp::auth::canonical_resource(bytes);
  require(resource.size() <= size);
  (void)mcp::auth::read_key_set(bytes);
  return 0;
}
