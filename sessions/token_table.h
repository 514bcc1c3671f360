// Bearer tokens. A secret is "hutch_", the id's 32 digits and 64 random ones. The id finds the row,
// by an index that compares as it likes; what proves anything is the hash of the whole, compared in
// constant time. Safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sessions {

struct StoreFile;

// A Token is a bearer token without its secret.
struct Token {
  std::string id;
  std::string principal_id;
  std::string principal_name;
  std::optional<std::string> name;
  std::vector<std::string> scopes;  // empty: everything
  std::int64_t created_at = 0;
  std::optional<std::int64_t> expires_at;
  std::optional<std::int64_t> last_used_at;  // to within kTokenUseMs
  std::optional<std::int64_t> revoked_at;
};

// The use of a token is written down at most once in so long.
inline constexpr std::int64_t kTokenUseMs = 60'000;

// Tokens that let somebody in begin so, and are told from other tokens by it.
inline constexpr std::string_view kTokenPrefix = "hutch_";

class TokenTable {
 public:
  explicit TokenTable(StoreFile& file) : file_(file) {}

  // Takes the id, principal, name, scopes and times; the secret, which is kept nowhere, comes back.
  base::Result<std::string> create(const Token& token);
  // Returns the token whose secret this is. kNotFound, with the same words for an unknown, a
  // revoked and an expired one. Every call reads the file: what another process has revoked is
  // revoked.
  base::Result<Token> use(std::string_view secret, std::int64_t now);
  // Returns all that are not revoked, the oldest first.
  base::Result<std::vector<Token>> list();
  // Finds it by id, by the secret, or by a name that only one has.
  base::Result<Token> revoke(const std::string& id_or_name, std::int64_t now);

 private:
  StoreFile& file_;
};

}  // namespace sessions
