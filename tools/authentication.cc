#include "tools/authentication.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "mcp/auth/bearer.h"
#include "mcp/auth/challenges.h"
#include "sessions/principal_table.h"
#include "sessions/token_table.h"
#include "tools/scopes.h"

namespace tools {

using base::Error;
using mcp::auth::Challenge;
using mcp::auth::Challenges;
using Access = mcp::http::Route::Access;
using Decision = std::variant<mcp::Principal, Challenge>;

namespace {

// Some of E2B's SDKs send no key but what looks like one of theirs: its digits are those of a
// token.
std::string token_meant_by(std::string_view given) {
  constexpr std::string_view kTheirs = "e2b_";
  if (!given.starts_with(kTheirs)) return std::string(given);
  return std::string(sessions::kTokenPrefix) + std::string(given.substr(kTheirs.size()));
}

class Authentication {
 public:
  Authentication(sessions::PrincipalTable& principals, sessions::TokenTable& tokens,
                 std::shared_ptr<mcp::auth::ResourceServer> oauth,
                 std::function<void(const std::string&)> on_fault)
      : principals_(principals),
        tokens_(tokens),
        oauth_(std::move(oauth)),
        on_fault_(std::move(on_fault)),
        challenges_(oauth_ ? oauth_->challenges() : Challenges()) {}

  Decision operator()(std::string_view authorization) const {
    const auto bearer = mcp::auth::read_bearer(authorization);
    if (const auto* none = std::get_if<mcp::auth::NoBearer>(&bearer)) {
      return *none == mcp::auth::NoBearer::kMalformed ? challenges_.malformed()
                                                      : challenges_.no_token();
    }
    const std::string token = token_meant_by(std::get<std::string_view>(bearer));
    if (oauth_ && !token.starts_with(sessions::kTokenPrefix)) return by_issuer(token);
    return by_store(token);
  }

 private:
  [[nodiscard]] Decision by_store(std::string_view secret) const {
    const auto token = tokens_.use(secret, base::now_ms());
    if (token.ok()) return mcp::Principal{token.value().principal_id, token.value().scopes};
    if (token.error().kind == Error::Kind::kNotFound) {
      return challenges_.invalid_token(token.error().message);
    }
    return fault(token.error());
  }

  [[nodiscard]] Decision by_issuer(std::string_view token) const {
    auto checked = oauth_->check(token);
    if (auto* challenge = std::get_if<Challenge>(&checked)) return std::move(*challenge);
    const auto& subject = std::get<mcp::auth::Subject>(checked);
    // Brackets and quotes: no principal of hutch token create has such a name.
    const std::string name =
        base::print_json(nlohmann::json::array({subject.issuer, subject.subject}));
    const auto id = principals_.ensure(name);
    if (!id.ok()) return fault(id.error());
    mcp::Principal principal{id.value(), {}};
    if (!subject.may_change) principal.scopes = {kScopeRead};
    if (subject.is_for_metrics) principal.scopes = {kScopeMetrics};
    return principal;
  }

  [[nodiscard]] Decision fault(const Error& error) const {
    on_fault_("cannot tell who asks: " + error.message);
    return Challenges::unavailable("hutch cannot check tokens now: try again later");
  }

  sessions::PrincipalTable& principals_;
  sessions::TokenTable& tokens_;
  const std::shared_ptr<mcp::auth::ResourceServer> oauth_;
  const std::function<void(const std::string&)> on_fault_;
  const Challenges challenges_;
};

bool changes_something(const mcp::Server& server, const mcp::Message& message) {
  if (message.method == "tasks/cancel" || message.method == "tasks/update") return true;
  const auto name = message.params->find("name");
  if (message.method != "tools/call" || name == message.params->end() || !name->is_string()) {
    return false;
  }
  const mcp::Tool* tool = server.find_tool(name->get_ref<const std::string&>());
  return tool != nullptr && !tool->annotations->value("readOnlyHint", false);
}

}  // namespace

mcp::auth::Authorizer make_authorizer(const mcp::Server& server,
                                      const std::shared_ptr<mcp::auth::ResourceServer>& oauth) {
  const Challenges challenges = oauth ? oauth->challenges() : Challenges();
  const auto scopes = oauth ? oauth->all_scopes() : std::vector<std::string>();
  return [&server, challenges, scopes](const mcp::Principal& principal,
                                       const mcp::Message& message) -> std::optional<Challenge> {
    if (may_change(principal.scopes) || !changes_something(server, message)) return std::nullopt;
    return challenges.insufficient_scope(kMayOnlyRead, scopes);
  };
}

std::function<std::optional<Challenge>(const mcp::Principal&, Access)> make_route_authorizer(
    const std::shared_ptr<mcp::auth::ResourceServer>& oauth) {
  const Challenges challenges = oauth ? oauth->challenges() : Challenges();
  const auto scopes = oauth ? oauth->all_scopes() : std::vector<std::string>();
  const auto of_metrics = oauth ? oauth->metrics_scopes() : std::vector<std::string>();
  return [challenges, scopes, of_metrics](const mcp::Principal& principal,
                                          Access access) -> std::optional<Challenge> {
    if (access == Access::kMetrics) {
      if (may_see_metrics(principal.scopes)) return std::nullopt;
      return challenges.insufficient_scope(kMayNotSeeMetrics, of_metrics);
    }
    if (!may_read(principal.scopes)) {
      return challenges.insufficient_scope(kMayOnlySeeMetrics, scopes);
    }
    if (access == Access::kReads || may_change(principal.scopes)) return std::nullopt;
    return challenges.insufficient_scope(kMayOnlyRead, scopes);
  };
}

mcp::auth::Authenticator make_authenticator(sessions::PrincipalTable& principals,
                                            sessions::TokenTable& tokens,
                                            std::shared_ptr<mcp::auth::ResourceServer> oauth,
                                            std::function<void(const std::string&)> on_fault) {
  return Authentication(principals, tokens, std::move(oauth), std::move(on_fault));
}

}  // namespace tools
