#include "tools/api/e2b/signature.h"

#include <openssl/crypto.h>

#include <cerrno>
#include <string_view>

#include "base/base64.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/text.h"

namespace tools::api::e2b {

using base::Error;

namespace {

std::string query_of(const mcp::http::Request& request, const char* name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? "" : found->second;
}

bool is_over(const std::string& second) {
  const auto until = base::number_of<std::int64_t>(second);
  return !until || base::now_ms() / 1000 > *until;
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
  std::string right = "v1_" + base::to_base64(TRY(base::sha256(text)));
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

}  // namespace tools::api::e2b
