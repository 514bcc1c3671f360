#include "sessions/sha256.h"

#include <openssl/evp.h>

#include <algorithm>

#include "sandbox/base/fd.h"

namespace sessions {

Sha256::Sha256() : context_(::EVP_MD_CTX_new()) {
  good_ = context_ != nullptr && ::EVP_DigestInit_ex(context_, ::EVP_sha256(), nullptr) == 1;
}

Sha256::~Sha256() { ::EVP_MD_CTX_free(context_); }

void Sha256::add(std::string_view bytes) {
  good_ = good_ && ::EVP_DigestUpdate(context_, bytes.data(), bytes.size()) == 1;
}

base::Result<std::string> Sha256::finish() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (!good_ || ::EVP_DigestFinal_ex(context_, digest, &size) != 1) {
    return base::error(base::Error::Kind::kInternal, "OpenSSL refuses SHA-256");
  }
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

base::Result<std::optional<std::string>> sha256_hex_of_file(int fd, std::int64_t bytes) {
  constexpr std::int64_t kPieceBytes = 256 * 1024;
  Sha256 hash;
  for (std::int64_t done = 0; done < bytes;) {
    const auto wanted = static_cast<std::size_t>(std::min(bytes - done, kPieceBytes));
    const std::string piece = TRY(base::read_at(fd, done, wanted));
    if (piece.size() < wanted) return std::optional<std::string>();
    hash.add(piece);
    done += static_cast<std::int64_t>(wanted);
  }
  return std::optional<std::string>(TRY(hash.finish()));
}

base::Result<std::string> sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

}  // namespace sessions
