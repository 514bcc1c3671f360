#include "base/digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "base/fd.h"
#include "base/text.h"

namespace base {
namespace {

constexpr std::size_t kDigestBytes = 32;
using Digest = std::array<unsigned char, kDigestBytes>;

Error not_to_be_had() { return error(Error::Kind::kInternal, "OpenSSL refuses SHA-256"); }

std::string bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

Sha256::Sha256() : context_(::EVP_MD_CTX_new()) {
  good_ = context_ != nullptr && ::EVP_DigestInit_ex(context_, ::EVP_sha256(), nullptr) == 1;
}

Sha256::~Sha256() { ::EVP_MD_CTX_free(context_); }

void Sha256::add(std::string_view bytes) {
  good_ = good_ && ::EVP_DigestUpdate(context_, bytes.data(), bytes.size()) == 1;
}

Result<std::string> Sha256::finish() {
  Digest digest{};
  if (!good_ || ::EVP_DigestFinal_ex(context_, digest.data(), nullptr) != 1) return not_to_be_had();
  return bytes_of(digest);
}

Result<std::string> sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

Result<std::string> hmac_sha256(std::string_view key, std::string_view text) {
  Digest digest{};
  if (::EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, key.data(), key.size(),
                  reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
                  digest.size(), nullptr) == nullptr) {
    return not_to_be_had();
  }
  return bytes_of(digest);
}

Result<std::string> sha256_hex(std::string_view bytes) { return in_hex(TRY(sha256(bytes))); }

Result<std::optional<std::string>> sha256_hex_of_file(int fd, std::int64_t bytes) {
  constexpr std::int64_t kPieceBytes = 256 * 1024;
  Sha256 hash;
  for (std::int64_t done = 0; done < bytes;) {
    const auto wanted = static_cast<std::size_t>(std::min(bytes - done, kPieceBytes));
    const std::string piece = TRY(read_at(fd, done, wanted));
    if (piece.size() < wanted) return std::optional<std::string>();
    hash.add(piece);
    done += static_cast<std::int64_t>(wanted);
  }
  return std::optional<std::string>(in_hex(TRY(hash.finish())));
}

}  // namespace base
