#include "sessions/sealing.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <memory>

#include "base/private_file.h"
#include "base/text.h"

namespace sessions {

using base::Error;

namespace {

// Empty for what are none.
std::string bytes_in(const std::string& digits) {
  long size = 0;
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> bytes(
      OPENSSL_hexstr2buf(digits.c_str(), &size), [](unsigned char* text) { OPENSSL_free(text); });
  return bytes ? std::string(reinterpret_cast<const char*>(bytes.get()),
                             static_cast<std::size_t>(size))
               : std::string();
}

}  // namespace

base::Result<base::SealingKey> sealing_key_in(const std::string& path) {
  base::SealingKey key;
  const std::string bytes = TRY(base::private_file(path, []() -> base::Result<std::string> {
    std::string made(sizeof(base::SealingKey), '\0');
    auto* const random = reinterpret_cast<unsigned char*>(made.data());
    if (RAND_bytes(random, static_cast<int>(made.size())) == 1) return made;
    return base::error(Error::Kind::kInternal, "OpenSSL has no random bytes");
  }));
  if (bytes.size() != key.size()) {
    return base::error(Error::Kind::kInvalid, path + " is no key of 32 bytes");
  }
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

base::Result<std::string> seal_in_digits(const base::SealingKey& key, const std::string& text,
                                         const std::string& bound) {
  return base::in_hex(TRY(base::seal(key, text, bound)));
}

base::Result<std::string> unseal_digits(const base::SealingKey& key, const std::string& digits,
                                        const std::string& bound) {
  auto text = base::unseal(key, bytes_in(digits), bound);
  if (text.ok()) return text;
  return base::error(text.error().kind, text.error().message + ": set it again");
}

}  // namespace sessions
