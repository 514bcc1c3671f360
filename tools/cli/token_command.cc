// hutch token: who may use hutch serve. Works beside running servers, which see every change with
// their next request.
#include <iostream>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "base/random_id.h"
#include "sessions/principal_table.h"
#include "sessions/store.h"
#include "sessions/token_table.h"
#include "tools/cli/commands.h"
#include "tools/cli/logging.h"
#include "tools/cli/own_command.h"
#include "tools/scopes.h"

namespace tools::cli {

using base::Error;
using nlohmann::json;

namespace {

constexpr std::size_t kNameBytesMax = 64;

// Principals of an authorization server have names that no name of this form can be.
base::Status check_name(const std::string& what, const std::string& name) {
  static constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@";
  const bool good = !name.empty() && name.size() <= kNameBytesMax &&
                    name.find_first_not_of(kAllowed) == std::string::npos &&
                    !name.starts_with("token_") && !name.starts_with(sessions::kTokenPrefix);
  if (good) return base::done();
  return base::error(Error::Kind::kInvalid,
                     what +
                         " must be 1 to 64 letters, digits and ._-@, and must not begin with "
                         "token_ or hutch_");
}

std::string time_or(const std::optional<std::int64_t>& at, const char* otherwise) {
  return at ? base::to_rfc3339(*at) : otherwise;
}

std::string own_token(const Settings& settings) {
  return own_command(settings, process_environment()) + " token";
}

const char* limits_of(const std::vector<std::string>& scopes) {
  if (scopes.empty()) return "";
  return may_see_metrics(scopes) ? ", and is for /metrics alone" : ", and may only read";
}

json as_object(const sessions::Token& token) {
  const auto time = [](const std::optional<std::int64_t>& at) {
    return at ? json(base::to_rfc3339(*at)) : json();
  };
  return {{"id", token.id},
          {"name", token.name ? json(*token.name) : json()},
          {"principal", token.principal_name},
          {"scopes", token.scopes},
          {"created_at", base::to_rfc3339(token.created_at)},
          {"expires_at", time(token.expires_at)},
          {"last_used_at", time(token.last_used_at)}};
}

}  // namespace

base::Result<std::unique_ptr<sessions::Store>> open_store(const Settings& settings) {
  TRY(make_directories(settings));
  auto store = TRY(sessions::Store::open(sessions::database_in(settings.state_directory)));
  store->watch(nullptr, log_notice);
  return store;
}

base::Result<int> token_create(const Settings& settings, const TokenOptions& options) {
  TRY(check_name("principal", options.principal));
  if (!options.name.empty()) TRY(check_name("name", options.name));
  if (may_see_metrics(options.scopes) && options.scopes.size() > 1) {
    return base::error(Error::Kind::kInvalid,
                       "a token with --scope metrics may do nothing else: make another one");
  }
  const auto store = TRY(open_store(settings));
  sessions::Token token;
  token.id = base::random_id("token_");
  token.principal_id = TRY(store->principals.ensure(options.principal));
  if (!options.name.empty()) token.name = options.name;
  token.scopes = options.scopes;
  token.created_at = base::now_ms();
  if (options.expires_in_seconds > 0) {
    token.expires_at = token.created_at + options.expires_in_seconds * 1000;
  }
  const std::string secret = TRY(store->tokens.create(token));
  std::cout << token.id << " acts for " << options.principal << ", "
            << (token.expires_at ? "until " + base::to_rfc3339(*token.expires_at)
                                 : std::string("until it is revoked"))
            << limits_of(token.scopes) << ". This is shown only once:\n"
            << secret << "\n";
  if (std::cout.flush()) return 0;
  // Nobody has read it, and nobody can any more.
  (void)TRY(store->tokens.revoke(token.id, base::now_ms()));
  return base::error(Error::Kind::kUnavailable, "the token could not be printed, and was revoked");
}

base::Result<int> token_list(const Settings& settings, bool as_json) {
  const auto store = TRY(open_store(settings));
  const auto tokens = TRY(store->tokens.list());
  if (as_json) {
    json all = json::array();
    for (const sessions::Token& token : tokens) all.push_back(as_object(token));
    std::cout << base::print_json(all) << "\n";
    return 0;
  }
  if (tokens.empty()) std::cout << "no tokens; " << own_token(settings) << " create makes one\n";
  for (const sessions::Token& token : tokens) {
    std::cout << token.id << "  " << token.name.value_or("-") << "  " << token.principal_name
              << "  " << (token.scopes.empty() ? "everything" : token.scopes.front())
              << "  expires " << time_or(token.expires_at, "never") << "  last used "
              << time_or(token.last_used_at, "never") << "\n";
  }
  return 0;
}

base::Result<int> token_revoke(const Settings& settings, const std::string& id_or_name) {
  const auto store = TRY(open_store(settings));
  auto revoked = store->tokens.revoke(id_or_name, base::now_ms());
  const auto kind = revoked.ok() ? Error::Kind::kInternal : revoked.error().kind;
  if (kind == Error::Kind::kNotFound) {
    return base::error(kind, "no such token; " + own_token(settings) + " ls shows them");
  }
  if (kind == Error::Kind::kConflict) {
    return base::error(kind, "several tokens have this name: use the id that " +
                                 own_token(settings) + " ls shows");
  }
  const auto token = TRY(std::move(revoked));
  std::cout << "revoked " << token.id << "\n";
  return 0;
}

}  // namespace tools::cli
