// hutch as an OAuth 2.1 resource server: it believes the tokens of one authorization server, when
// they are meant for it. https://modelcontextprotocol.io/specification, authorization; RFC 9728
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mcp/auth/authenticator.h"
#include "mcp/auth/challenges.h"
#include "mcp/auth/key_source.h"

namespace mcp::auth {

struct ResourceServerOptions {
  std::string issuer;               // as tokens have it in "iss"
  std::string resource;             // the URL of this server's MCP endpoint, as clients use it
  std::vector<std::string> scopes;  // a token must have all of them
  std::vector<Algorithm> algorithms = {Algorithm::kRs256, Algorithm::kEs256, Algorithm::kEdDsa};
  // A token that lacks one of these may read only; none: every token may change things.
  std::vector<std::string> change_scopes = {};
  // A token that has all of these is for the counts of this server alone, whatever else it has;
  // none: no token is.
  std::vector<std::string> metrics_scopes = {};
};

// Returns nothing when they can be used.
std::optional<Refusal> check_options(const ResourceServerOptions& options);

// A Subject says who a token is about: the issuer's name for it says nothing without the issuer.
struct Subject {
  std::string issuer;
  std::string subject;
  bool may_change = true;
  bool is_for_metrics = false;  // and for nothing else
};

class ResourceServer {
 public:
  // Returns seconds since the epoch.
  using WallClock = std::function<double()>;
  static double now();

  // REQUIRES: check_options(options) had nothing to say.
  ResourceServer(ResourceServerOptions options, KeySource::Fetch fetch_keys,
                 KeySource::FaultHook on_fault, WallClock clock = &ResourceServer::now);

  // Checks a token, on any thread; waits for the authorization server when its keys are needed.
  std::variant<Subject, Challenge> check(std::string_view token);

  [[nodiscard]] const Challenges& challenges() const { return challenges_; }
  // Returns all scopes that changing something needs.
  [[nodiscard]] std::vector<std::string> all_scopes() const;
  [[nodiscard]] const std::vector<std::string>& metrics_scopes() const {
    return options_.metrics_scopes;
  }

  // Returns the protected-resource metadata, to be served to everybody at metadata_paths().
  [[nodiscard]] nlohmann::json metadata() const;
  // Returns "/.well-known/oauth-protected-resource" with the path of the resource behind it, and
  // without.
  [[nodiscard]] std::vector<std::string> metadata_paths() const;

 private:
  const ResourceServerOptions options_;
  const Expected expected_;
  const Challenges challenges_;
  const WallClock clock_;
  KeySource keys_;
};

}  // namespace mcp::auth
