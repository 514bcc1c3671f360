// Keys and tokens of an authorization server, made when a test runs.
#pragma once

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace mcp::auth {

inline std::string to_base64url(std::string_view bytes) {
  std::string text(bytes.size() / 3 * 4 + 5, '\0');
  const int size = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  while (text.ends_with('=')) text.pop_back();
  for (char& digit : text) digit = digit == '+' ? '-' : digit == '/' ? '_' : digit;
  return text;
}

class SigningKey {
 public:
  static SigningKey rsa(unsigned bits = 2048) { return {"RS256", EVP_RSA_gen(bits)}; }
  static SigningKey ec(const char* curve = "P-256") { return {"ES256", EVP_EC_gen(curve)}; }
  static SigningKey ed25519() {
    return {"EdDSA", ::EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")};
  }

  [[nodiscard]] nlohmann::json jwk(const std::string& id = "k") const {
    nlohmann::json key = {{"kid", id}, {"use", "sig"}, {"alg", algorithm_}};
    if (algorithm_ == "RS256") {
      key.update({{"kty", "RSA"}, {"n", number("n")}, {"e", number("e")}});
    } else if (algorithm_ == "ES256") {
      const std::string point = octets(OSSL_PKEY_PARAM_PUB_KEY);
      const std::size_t half = (point.size() - 1) / 2;
      key.update({{"kty", "EC"},
                  {"crv", half == 32 ? "P-256" : "P-384"},
                  {"x", to_base64url(point.substr(1, half))},
                  {"y", to_base64url(point.substr(1 + half))}});
    } else {
      key.update({{"kty", "OKP"},
                  {"crv", "Ed25519"},
                  {"x", to_base64url(octets(OSSL_PKEY_PARAM_PUB_KEY))}});
    }
    return key;
  }

  [[nodiscard]] std::string sign(const std::string& bytes) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context(::EVP_MD_CTX_new(),
                                                                            &::EVP_MD_CTX_free);
    const EVP_MD* hash = algorithm_ == "EdDSA" ? nullptr : ::EVP_sha256();
    std::string signature(1024, '\0');
    std::size_t size = signature.size();
    if (::EVP_DigestSignInit(context.get(), nullptr, hash, nullptr, key_.get()) != 1 ||
        ::EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                         reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()) != 1) {
      throw std::runtime_error("cannot sign");
    }
    signature.resize(size);
    return algorithm_ == "ES256" ? side_by_side(signature) : signature;
  }

  [[nodiscard]] std::string token_with(const nlohmann::json& header,
                                       const nlohmann::json& claims) const {
    const std::string bytes = to_base64url(header.dump()) + "." + to_base64url(claims.dump());
    return bytes + "." + to_base64url(sign(bytes));
  }
  [[nodiscard]] std::string token(const nlohmann::json& claims, const std::string& id = "k") const {
    return token_with({{"alg", algorithm_}, {"typ", "at+jwt"}, {"kid", id}}, claims);
  }

  // As published in a certificate: what the attack of signing by HMAC with a public key uses.
  [[nodiscard]] std::string public_bytes() const {
    unsigned char* der = nullptr;
    const int size = ::i2d_PUBKEY(key_.get(), &der);
    std::string bytes(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
    ::OPENSSL_free(der);
    return bytes;
  }

 private:
  SigningKey(std::string algorithm, EVP_PKEY* key)
      : algorithm_(std::move(algorithm)), key_(key, ::EVP_PKEY_free) {
    if (key == nullptr) throw std::runtime_error("cannot make a key");
  }

  [[nodiscard]] std::string number(const char* name) const {
    BIGNUM* value = nullptr;
    if (::EVP_PKEY_get_bn_param(key_.get(), name, &value) != 1) throw std::runtime_error(name);
    std::string bytes(static_cast<std::size_t>(BN_num_bytes(value)), '\0');
    ::BN_bn2bin(value, reinterpret_cast<unsigned char*>(bytes.data()));
    ::BN_free(value);
    return to_base64url(bytes);
  }

  [[nodiscard]] std::string octets(const char* name) const {
    std::string bytes(256, '\0');
    std::size_t size = 0;
    if (::EVP_PKEY_get_octet_string_param(key_.get(), name,
                                          reinterpret_cast<unsigned char*>(bytes.data()),
                                          bytes.size(), &size) != 1) {
      throw std::runtime_error(name);
    }
    return bytes.substr(0, size);
  }

  static std::string side_by_side(const std::string& der) {
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    ECDSA_SIG* pair = ::d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()));
    std::string bytes(64, '\0');
    auto* out = reinterpret_cast<unsigned char*>(bytes.data());
    ::BN_bn2binpad(::ECDSA_SIG_get0_r(pair), out, 32);
    ::BN_bn2binpad(::ECDSA_SIG_get0_s(pair), out + 32, 32);
    ::ECDSA_SIG_free(pair);
    return bytes;
  }

  std::string algorithm_;
  std::shared_ptr<EVP_PKEY> key_;
};

inline std::string hmac_sha256(const std::string& key, const std::string& bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest, &size);
  return {reinterpret_cast<char*>(digest), size};
}

inline std::string key_set(std::initializer_list<nlohmann::json> keys) {
  return nlohmann::json{{"keys", nlohmann::json(keys)}}.dump();
}

}  // namespace mcp::auth
