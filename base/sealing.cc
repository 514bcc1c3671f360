#include "base/sealing.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <cstddef>
#include <memory>

namespace base {
namespace {

constexpr int kNonceBytes = 12;
constexpr int kTagBytes = 16;

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* bytes_of(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

int size_of(const std::string& text) { return static_cast<int>(text.size()); }

}  // namespace

Result<std::string> seal(const SealingKey& key, const std::string& text, const std::string& bound) {
  const Cipher cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::string sealed(kNonceBytes + text.size() + kTagBytes, '\0');
  unsigned char* const nonce = bytes_of(sealed);
  unsigned char* const out = nonce + kNonceBytes;
  int size = 0;
  const bool good =
      cipher && RAND_bytes(nonce, kNonceBytes) == 1 &&
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce) == 1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &size, bytes_of(bound), size_of(bound)) == 1 &&
      EVP_EncryptUpdate(cipher.get(), out, &size, bytes_of(text), size_of(text)) == 1 &&
      EVP_EncryptFinal_ex(cipher.get(), out + size, &size) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, out + text.size()) == 1;
  if (!good) return error(Error::Kind::kInternal, "OpenSSL failed to seal");
  return sealed;
}

Result<std::string> unseal(const SealingKey& key, const std::string& sealed,
                           const std::string& bound) {
  if (sealed.size() < kNonceBytes + kTagBytes) {
    return error(Error::Kind::kInvalid, "it is too short for what was sealed");
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
      EVP_DecryptUpdate(cipher.get(), nullptr, &size, bytes_of(bound), size_of(bound)) == 1 &&
      EVP_DecryptUpdate(cipher.get(), bytes_of(text), &size, nonce + kNonceBytes, size_of(text)) ==
          1 &&
      EVP_DecryptFinal_ex(cipher.get(), bytes_of(text) + size, &size) == 1;
  if (good) return text;
  return error(Error::Kind::kInvalid, "it was sealed under another key, or has been changed");
}

}  // namespace base
