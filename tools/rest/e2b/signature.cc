#include "tools/rest/e2b/signature.h"

#include <openssl/crypto.h>

#include <cerrno>
#include <charconv>
#include <string_view>

#include "mcp/base64.h"
#include "sandbox/base/clock.h"
#include "sessions/sha256.h"

namespace tools::rest::e2b {

using base::Error;

namespace {

std::string query_of(const mcp::http::Request& request, const char* name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? "" : found->second;
}

std::string bytes_of_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    unsigned byte = 0;
    (void)std::from_chars(hex.data() + at, hex.data() + at + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

bool is_over(const std::string& second) {
  std::int64_t until = 0;
  const char* end = second.data() + second.size();
  const auto [stopped, error] = std::from_chars(second.data(), end, until);
  return error != std::errc() || stopped != end || base::now_ms() / 1000 > until;
}

}  // namespace

base::Error wrong_signature() {
  return Error{Error::Kind::kInvalid, EKEYREJECTED, "invalid signature"};
}

base::Status check_signature(const mcp::http::Request& request, const std::string& token) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  const std::string until = query_of(request, "signature_expiration");
  std::string text = query_of(request, "path") + (reads ? ":read:" : ":write:") +
                     query_of(request, "username") + ":" + token;
  if (!until.empty()) text += ":" + until;
  std::string right = "v1_" + mcp::to_base64(bytes_of_hex(TRY(sessions::sha256_hex(text))));
  right.erase(right.find_last_not_of('=') + 1);
  const std::string given = query_of(request, "signature");
  if (given.size() != right.size() ||
      CRYPTO_memcmp(given.data(), right.data(), right.size()) != 0) {
    return wrong_signature();
  }
  if (!until.empty() && is_over(until)) {
    return Error{Error::Kind::kInvalid, EKEYEXPIRED, "signature is already expired"};
  }
  return base::done();
}

}  // namespace tools::rest::e2b
