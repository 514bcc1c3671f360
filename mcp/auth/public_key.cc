#include "mcp/auth/public_key.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/base64.h"

namespace mcp::auth {
namespace {

using nlohmann::json;

template <typename T, void (*kFree)(T*)>
struct Free {
  void operator()(T* object) const { kFree(object); }
};
template <typename T, void (*kFree)(T*)>
using Owned = std::unique_ptr<T, Free<T, kFree>>;

using Number = Owned<BIGNUM, ::BN_free>;
using KeyContext = Owned<EVP_PKEY_CTX, ::EVP_PKEY_CTX_free>;
using Builder = Owned<OSSL_PARAM_BLD, ::OSSL_PARAM_BLD_free>;
using Parameters = Owned<OSSL_PARAM, ::OSSL_PARAM_free>;
using Digest = Owned<EVP_MD_CTX, ::EVP_MD_CTX_free>;
using EcSignature = Owned<ECDSA_SIG, ::ECDSA_SIG_free>;

constexpr std::size_t kCoordinateBytes = 32;  // for P-256, and for its signatures
constexpr std::size_t kEd25519Bytes = 32;
constexpr std::size_t kRsaBytesMin = 2048 / 8;
constexpr std::size_t kRsaBytesMax = 8192 / 8;
constexpr std::size_t kRsaExponentBytesMax = 8;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string text_of(const json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string decoded(const json& jwk, const char* member) {
  return base::from_base64url(text_of(jwk, member)).value_or("");
}

Number number_of(std::string_view bytes) {
  return Number(::BN_bin2bn(bytes_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

std::shared_ptr<EVP_PKEY> build(const char* type, OSSL_PARAM_BLD* builder) {
  const Parameters parameters(::OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(::EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!parameters || !context || ::EVP_PKEY_fromdata_init(context.get()) != 1 ||
      ::EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    return nullptr;
  }
  std::shared_ptr<EVP_PKEY> owned(key, ::EVP_PKEY_free);
  const KeyContext check(::EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
  if (!check || ::EVP_PKEY_public_check(check.get()) != 1) return nullptr;
  return owned;
}

std::shared_ptr<EVP_PKEY> rsa_key(const json& jwk) {
  const std::string modulus = decoded(jwk, "n");
  const std::string exponent = decoded(jwk, "e");
  if (modulus.size() < kRsaBytesMin || modulus.size() > kRsaBytesMax || exponent.empty() ||
      exponent.size() > kRsaExponentBytesMax) {
    return nullptr;
  }
  const Number n = number_of(modulus);
  const Number e = number_of(exponent);
  const Builder builder(::OSSL_PARAM_BLD_new());
  if (!n || !e || !builder || ::BN_num_bits(n.get()) < static_cast<int>(kRsaBytesMin * 8) ||
      ::OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      ::OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
    return nullptr;
  }
  return build("RSA", builder.get());
}

std::shared_ptr<EVP_PKEY> p256_key(const json& jwk) {
  const std::string x = decoded(jwk, "x");
  const std::string y = decoded(jwk, "y");
  if (x.size() != kCoordinateBytes || y.size() != kCoordinateBytes) return nullptr;
  const std::string point = '\x04' + x + y;  // uncompressed
  const Builder builder(::OSSL_PARAM_BLD_new());
  if (!builder ||
      ::OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1",
                                        0) != 1 ||
      ::OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                         point.size()) != 1) {
    return nullptr;
  }
  return build("EC", builder.get());
}

std::shared_ptr<EVP_PKEY> ed25519_key(const json& jwk) {
  const std::string x = decoded(jwk, "x");
  if (x.size() != kEd25519Bytes) return nullptr;
  return {::EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(x), x.size()),
          ::EVP_PKEY_free};
}

// A key that says what it is for must be for this.
bool is_for(const json& jwk, Algorithm algorithm) {
  if (jwk.contains("use") && text_of(jwk, "use") != "sig") return false;
  if (jwk.contains("alg") && algorithm_named(text_of(jwk, "alg")) != algorithm) return false;
  const auto uses = jwk.find("key_ops");
  if (uses == jwk.end()) return true;
  return uses->is_array() && std::find(uses->begin(), uses->end(), "verify") != uses->end();
}

// RFC 7518 writes the two numbers side by side, OpenSSL takes them in DER.
std::string der_of(std::string_view signature) {
  if (signature.size() != 2 * kCoordinateBytes) return "";
  Number r = number_of(signature.substr(0, kCoordinateBytes));
  Number s = number_of(signature.substr(kCoordinateBytes));
  const EcSignature pair(::ECDSA_SIG_new());
  if (!r || !s || !pair || ::ECDSA_SIG_set0(pair.get(), r.get(), s.get()) != 1) return "";
  (void)r.release();  // the pair's now
  (void)s.release();
  std::string der(static_cast<std::size_t>(std::max(0, ::i2d_ECDSA_SIG(pair.get(), nullptr))), 0);
  auto* out = reinterpret_cast<unsigned char*>(der.data());
  (void)::i2d_ECDSA_SIG(pair.get(), &out);
  return der;
}

}  // namespace

std::optional<Algorithm> algorithm_named(std::string_view name) {
  if (name == "RS256") return Algorithm::kRs256;
  if (name == "ES256") return Algorithm::kEs256;
  if (name == "EdDSA") return Algorithm::kEdDsa;
  return std::nullopt;
}

std::optional<PublicKey> PublicKey::from_jwk(const json& jwk) {
  if (!jwk.is_object()) return std::nullopt;
  const std::string type = text_of(jwk, "kty");
  const std::string curve = text_of(jwk, "crv");
  std::shared_ptr<EVP_PKEY> key;
  Algorithm algorithm = Algorithm::kRs256;
  if (type == "RSA") {
    key = rsa_key(jwk);
  } else if (type == "EC" && curve == "P-256") {
    algorithm = Algorithm::kEs256;
    key = p256_key(jwk);
  } else if (type == "OKP" && curve == "Ed25519") {
    algorithm = Algorithm::kEdDsa;
    key = ed25519_key(jwk);
  }
  if (!key || !is_for(jwk, algorithm)) return std::nullopt;
  PublicKey result(std::move(key), algorithm);
  if (jwk.contains("kid")) result.id_ = text_of(jwk, "kid");
  return result;
}

bool PublicKey::verifies(std::string_view bytes, std::string_view signature) const {
  const std::string given =
      algorithm_ == Algorithm::kEs256 ? der_of(signature) : std::string(signature);
  const EVP_MD* hash = algorithm_ == Algorithm::kEdDsa ? nullptr : ::EVP_sha256();
  const Digest context(::EVP_MD_CTX_new());
  // RSA is with PKCS #1 padding unless it is told otherwise.
  return context && !given.empty() &&
         ::EVP_DigestVerifyInit(context.get(), nullptr, hash, nullptr, key_.get()) == 1 &&
         ::EVP_DigestVerify(context.get(), bytes_of(given), given.size(), bytes_of(bytes),
                            bytes.size()) == 1;
}

}  // namespace mcp::auth
