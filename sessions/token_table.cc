#include "sessions/token_table.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/random_id.h"
#include "base/text.h"
#include "sessions/audit_table.h"
#include "sessions/sqlite.h"
#include "sessions/store_file.h"

namespace sessions {

using base::Error;
using nlohmann::json;

namespace {

#define TOKEN_COLUMNS                                                                         \
  "tokens.id, tokens.principal_id, principals.name, tokens.name, tokens.scopes, "             \
  "tokens.created_at, tokens.expires_at, tokens.last_used_at, tokens.revoked_at FROM tokens " \
  "JOIN principals ON principals.id = tokens.principal_id "

constexpr std::string_view kIdPrefix = "token_";
constexpr std::size_t kIdDigits = 32;
constexpr std::size_t kSecretDigits = 96;

Token read_token(Statement& row) {
  Token token;
  token.id = row.text();
  token.principal_id = row.text();
  token.principal_name = row.text();
  token.name = row.optional_text();
  token.scopes = base::words_of(row.text(), ' ');
  token.created_at = row.integer();
  token.expires_at = row.optional_integer();
  token.last_used_at = row.optional_integer();
  token.revoked_at = row.optional_integer();
  return token;
}

bool same_in_constant_time(const std::string& a, const std::string& b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// A text that is no secret of ours finds no row, and takes the same path from there on.
std::string id_of(std::string_view secret) {
  if (secret.size() != kTokenPrefix.size() + kSecretDigits) return "";
  if (!secret.starts_with(kTokenPrefix)) return "";
  return std::string(kIdPrefix) + std::string(secret.substr(kTokenPrefix.size(), kIdDigits));
}

Error no_such_token() {
  return base::error(Error::Kind::kNotFound, "the token is unknown, revoked or expired");
}

}  // namespace

base::Result<std::string> TokenTable::create(const Token& token) {
  if (!base::is_random_id(token.id, kIdPrefix)) {
    return base::error(Error::Kind::kInternal, "a token's id must be random");
  }
  // Twice 128 bits beside the id.
  const std::string secret = std::string(kTokenPrefix) + token.id.substr(kIdPrefix.size()) +
                             base::random_id("") + base::random_id("");
  const std::string hash = TRY(base::sha256_hex(secret));
  const std::lock_guard lock(file_.mutex);
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  {
    Statement insert =
        TRY(file_.database->prepare("INSERT INTO tokens (id, principal_id, name, sha256, scopes, "
                                    "created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)"));
    insert.bind(token.id)
        .bind(token.principal_id)
        .bind(token.name)
        .bind(hash)
        .bind(base::join(token.scopes, " "))
        .bind(token.created_at)
        .bind(token.expires_at);
    TRY(insert.run());
  }
  TRY(write_audit(*file_.database, {token.created_at, token.principal_id, std::nullopt,
                                    "create_token", json{{"token", token.id}}}));
  TRY(transaction.commit());
  file_.tell({Notice::Level::kInfo, "token " + token.id + " made", token.principal_id});
  return secret;
}

base::Result<Token> TokenTable::use(std::string_view secret, std::int64_t now) {
  const std::string presented = TRY(base::sha256_hex(secret));
  const std::lock_guard lock(file_.mutex);
  Token token;
  std::string kept(presented.size(), '0');  // compared when there is no row
  {
    Statement select =
        TRY(file_.database->prepare("SELECT sha256, " TOKEN_COLUMNS "WHERE tokens.id = ?"));
    select.bind(id_of(secret));
    if (TRY(select.step())) {
      kept = select.text();
      token = read_token(select);
    }
  }
  if (!same_in_constant_time(kept, presented) || token.id.empty()) return no_such_token();
  if (token.revoked_at || (token.expires_at && *token.expires_at <= now)) return no_such_token();
  if (!token.last_used_at || *token.last_used_at + kTokenUseMs <= now) {
    Statement update =
        TRY(file_.database->prepare("UPDATE tokens SET last_used_at = ?2 WHERE id = ?1"));
    // A database that is busy for long turns nobody away.
    (void)update.bind(token.id).bind(now).run();
  }
  return token;
}

base::Result<std::vector<Token>> TokenTable::list() {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare(
      "SELECT " TOKEN_COLUMNS
      "WHERE tokens.revoked_at IS NULL ORDER BY tokens.created_at, tokens.id"));
  std::vector<Token> tokens;
  while (TRY(select.step())) tokens.push_back(read_token(select));
  return tokens;
}

base::Result<Token> TokenTable::revoke(const std::string& id_or_name, std::int64_t now) {
  const std::lock_guard lock(file_.mutex);
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  std::vector<Token> found;
  {
    Statement select =
        TRY(file_.database->prepare("SELECT " TOKEN_COLUMNS "WHERE tokens.revoked_at IS NULL AND "
                                    "(tokens.id = ?1 OR tokens.name = ?1) LIMIT 2"));
    // Whoever finds a secret lying about has nothing else to name it by.
    const std::string by_secret = id_of(id_or_name);
    select.bind(by_secret.empty() ? id_or_name : by_secret);
    while (TRY(select.step())) found.push_back(read_token(select));
  }
  if (found.empty()) {
    return base::error(Error::Kind::kNotFound, "no such token; hutch token ls shows them");
  }
  if (found.size() > 1) {
    return base::error(Error::Kind::kConflict,
                       "several tokens have this name: use the id that hutch token ls shows");
  }
  Token& token = found.front();
  {
    Statement update =
        TRY(file_.database->prepare("UPDATE tokens SET revoked_at = ?2 WHERE id = ?1"));
    TRY(update.bind(token.id).bind(now).run());
  }
  TRY(write_audit(*file_.database, {now, token.principal_id, std::nullopt, "revoke_token",
                                    json{{"token", token.id}}}));
  TRY(transaction.commit());
  file_.tell({Notice::Level::kInfo, "token " + token.id + " taken back", token.principal_id});
  token.revoked_at = now;
  return token;
}

}  // namespace sessions
