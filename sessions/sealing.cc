#include "sessions/sealing.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <memory>

#include "base/private_file.h"

namespace sessions {

using base::Error;

namespace {

constexpr int kNonceBytes = 12;
constexpr int kTagBytes = 16;

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* bytes_of(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

// Hexadecimal, for a column of text.
std::string digits_of(const std::string& bytes) {
  const std::unique_ptr<char, void (*)(char*)> digits(
      OPENSSL_buf2hexstr(bytes_of(bytes), static_cast<long>(bytes.size())),
      [](char* text) { OPENSSL_free(text); });
  return digits ? digits.get() : "";
}

// Empty for what are none.
std::string bytes_in(const std::string& digits) {
  long size = 0;
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> bytes(
      OPENSSL_hexstr2buf(digits.c_str(), &size), [](unsigned char* text) { OPENSSL_free(text); });
  return bytes ? std::string(reinterpret_cast<const char*>(bytes.get()),
                             static_cast<std::size_t>(size))
               : std::string();
}

Error failed() { return base::error(Error::Kind::kInternal, "OpenSSL failed to seal"); }

}  // namespace

base::Result<SealingKey> sealing_key_in(const std::string& path) {
  const std::string bytes = TRY(base::private_file(path, []() -> base::Result<std::string> {
    std::string made(sizeof(SealingKey), '\0');
    if (RAND_bytes(bytes_of(made), static_cast<int>(made.size())) != 1) return failed();
    return made;
  }));
  SealingKey key;
  if (bytes.size() != key.size()) {
    return base::error(Error::Kind::kInvalid, path + " is no key of 32 bytes");
  }
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

base::Result<std::string> seal(const SealingKey& key, const std::string& text,
                               const std::string& bound) {
  const Cipher cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::string sealed(kNonceBytes + text.size() + kTagBytes, '\0');
  unsigned char* const nonce = bytes_of(sealed);
  unsigned char* const out = nonce + kNonceBytes;
  int size = 0;
  const bool good =
      cipher && RAND_bytes(nonce, kNonceBytes) == 1 &&
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce) == 1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &size, bytes_of(bound),
                        static_cast<int>(bound.size())) == 1 &&
      EVP_EncryptUpdate(cipher.get(), out, &size, bytes_of(text), static_cast<int>(text.size())) ==
          1 &&
      EVP_EncryptFinal_ex(cipher.get(), out + size, &size) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, out + text.size()) == 1;
  if (!good) return failed();
  return digits_of(sealed);
}

base::Result<std::string> unseal(const SealingKey& key, const std::string& digits,
                                 const std::string& bound) {
  const std::string sealed = bytes_in(digits);
  if (sealed.size() < kNonceBytes + kTagBytes) {
    return base::error(Error::Kind::kInvalid, "it is too short for what was sealed");
  }
  const Cipher cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::string text(sealed.size() - kNonceBytes - kTagBytes, '\0');
  std::string tag = sealed.substr(sealed.size() - kTagBytes);
  const unsigned char* const nonce = bytes_of(sealed);
  int size = 0;
  const bool good =
      cipher &&
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &size, bytes_of(bound),
                        static_cast<int>(bound.size())) == 1 &&
      EVP_DecryptUpdate(cipher.get(), bytes_of(text), &size, nonce + kNonceBytes,
                        static_cast<int>(text.size())) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), bytes_of(text) + size, &size) == 1;
  if (good) return text;
  return base::error(Error::Kind::kInvalid,
                     "it was sealed under another key, or has been changed: set it again");
}

}  // namespace sessions
