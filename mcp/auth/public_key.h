// A public key out of a JSON Web Key, and the check of a signature by OpenSSL. A key is of one kind
// and checks one algorithm: what a token calls its algorithm never chooses how a key is used.
// https://www.rfc-editor.org/rfc/rfc7517, rfc7518, rfc8037
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

struct evp_pkey_st;

namespace mcp::auth {

enum class Algorithm { kRs256, kEs256, kEdDsa };

// Reads the names of RFC 7518 and RFC 8037; nothing for all others, "none" and "HS256" among them.
std::optional<Algorithm> algorithm_named(std::string_view name);

class PublicKey {
 public:
  // Returns nothing for a key that checks no signature of these algorithms: symmetric, for
  // encryption, of another curve, RSA of fewer than 2048 or more than 8192 bits, or broken.
  static std::optional<PublicKey> from_jwk(const nlohmann::json& jwk);

  [[nodiscard]] Algorithm algorithm() const { return algorithm_; }
  [[nodiscard]] const std::optional<std::string>& id() const { return id_; }
  // Returns true when `signature` is this key's, of these bytes. It may be called from any thread.
  [[nodiscard]] bool verifies(std::string_view bytes, std::string_view signature) const;

 private:
  PublicKey(std::shared_ptr<evp_pkey_st> key, Algorithm algorithm)
      : key_(std::move(key)), algorithm_(algorithm) {}

  std::shared_ptr<evp_pkey_st> key_;
  Algorithm algorithm_;
  std::optional<std::string> id_;
};

}  // namespace mcp::auth
