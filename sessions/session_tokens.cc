#include "sessions/session_tokens.h"

#include <openssl/crypto.h>

#include <charconv>

#include "base/clock.h"
#include "base/digest.h"
#include "base/private_file.h"
#include "base/random_id.h"
#include "base/text.h"
#include "sessions/session_lists.h"
#include "sessions/session_table.h"

namespace sessions {

using base::Error;

namespace {

base::Result<std::string> code_of(const std::string& key, const std::string& text) {
  return base::in_hex(TRY(base::hmac_sha256(key, text)));
}

// In a time that tells nothing.
bool are_equal(const std::string& given, const std::string& right) {
  return given.size() == right.size() &&
         CRYPTO_memcmp(given.data(), right.data(), right.size()) == 0;
}

}  // namespace

base::Result<std::string> SessionTokens::key() const {
  return base::private_file(state_directory_ + "/access.key", [] {
    return base::Result<std::string>(base::random_id("") + base::random_id(""));
  });
}

base::Result<std::string> SessionTokens::token_of(const std::string& session_id) const {
  const std::string secret = TRY(key());
  return code_of(secret, session_id);
}

base::Result<std::vector<SessionTokens::Access>> SessionTokens::newest(std::int64_t limit) const {
  const std::string secret = TRY(key());
  std::vector<Access> all;
  for (std::string& id : TRY(session_lists_.newest_used(limit))) {
    std::string token = TRY(code_of(secret, id));
    all.push_back({std::move(id), std::move(token)});
  }
  return all;
}

bool SessionTokens::is_token_of(const std::string& session_id, const std::string& token) const {
  const auto right = token_of(session_id);
  return right.ok() && are_equal(token, right.value());
}

base::Result<Session> SessionTokens::session_by(const std::string& session_id,
                                                const std::string& token) const {
  if (!are_equal(token, TRY(token_of(session_id)))) {
    return base::error(Error::Kind::kNotFound, "no such sandbox, or this is not its access token");
  }
  return sessions_.find_of_any(session_id);
}

// "<until>.<code>"; no session's id has a space.
base::Result<std::string> SessionTokens::port_token_of(const std::string& session_id,
                                                       std::uint16_t port,
                                                       std::int64_t until_s) const {
  const std::string until = std::to_string(until_s);
  const std::string code = TRY(token_of(session_id + " " + std::to_string(port) + " " + until));
  return until + "." + code;
}

base::Result<Session> SessionTokens::session_by_port(const std::string& session_id,
                                                     std::uint16_t port,
                                                     const std::string& token) const {
  std::int64_t until_s = 0;
  const auto read = std::from_chars(token.data(), token.data() + token.size(), until_s);
  const bool is_right =
      read.ec == std::errc() && are_equal(token, TRY(port_token_of(session_id, port, until_s)));
  if (!is_right || base::now_ms() / 1000 > until_s) {
    return base::error(Error::Kind::kNotFound, "this link is over, or is none to this port");
  }
  return sessions_.find_of_any(session_id);
}

}  // namespace sessions
