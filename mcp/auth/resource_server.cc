#include "mcp/auth/resource_server.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "mcp/auth/https_fetch.h"

namespace mcp::auth {
namespace {

constexpr std::string_view kWellKnown = "/.well-known/oauth-protected-resource";

// Where the path begins.
std::size_t end_of_origin(std::string_view url) {
  return std::min(url.find('/', url.find("://") + 3), url.size());
}

std::string path_of(std::string_view url) {
  std::string path(url.substr(end_of_origin(url)));
  if (path.ends_with('/')) path.pop_back();
  return path;
}

std::string metadata_url(std::string_view resource) {
  return std::string(resource.substr(0, end_of_origin(resource))) + std::string(kWellKnown) +
         path_of(resource);
}

// Returns whether `text` may stand between the quotes of a header; an empty one may not.
bool is_plain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char byte) {
    return byte > ' ' && byte < '\x7f' && byte != '"' && byte != '\\';
  });
}

}  // namespace

std::optional<Refusal> check_options(const ResourceServerOptions& options) {
  if (!is_plain(options.issuer)) return Refusal{"issuer must be a URL"};
  if (const auto refusal = check_fetch_url(options.issuer)) {
    return Refusal{"issuer " + refusal->why};
  }
  if (!is_plain(options.resource)) return Refusal{"resource must be a URL"};
  if (const auto refusal = check_fetch_url(options.resource)) {
    return Refusal{"resource " + refusal->why};
  }
  if (options.resource.find_first_of("?#") != std::string::npos) {
    return Refusal{"resource must have no query and no fragment"};
  }
  for (const auto* scopes : {&options.scopes, &options.change_scopes, &options.metrics_scopes}) {
    if (std::all_of(scopes->begin(), scopes->end(), is_plain)) continue;
    return Refusal{"a scope must be printable characters without spaces, quotes and backslashes"};
  }
  if (options.algorithms.empty()) return Refusal{"algorithms must name one at least"};
  return std::nullopt;
}

double ResourceServer::now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

ResourceServer::ResourceServer(ResourceServerOptions options, KeySource::Fetch fetch_keys,
                               KeySource::FaultHook on_fault, WallClock clock)
    : options_(std::move(options)),
      expected_{options_.issuer, canonical_resource(options_.resource)},
      challenges_(metadata_url(options_.resource), options_.scopes),
      clock_(std::move(clock)),
      keys_(std::move(fetch_keys), std::move(on_fault)) {}

std::variant<Subject, Challenge> ResourceServer::check(std::string_view token) {
  const auto decoded = decode_jwt(token);
  if (const auto* refusal = std::get_if<Refusal>(&decoded)) {
    return challenges_.invalid_token(refusal->why);
  }
  const auto& jwt = std::get<Jwt>(decoded);
  const auto& allowed = options_.algorithms;
  if (std::find(allowed.begin(), allowed.end(), jwt.algorithm) == allowed.end()) {
    return challenges_.invalid_token("the token is signed with an algorithm that is not allowed");
  }
  const auto keys = keys_.keys_for(jwt);
  if (!keys) {
    return Challenges::unavailable(
        "the keys of the authorization server cannot be read now: try again later");
  }
  if (std::none_of(keys->begin(), keys->end(), [&jwt](const PublicKey& key) {
        return key.verifies(jwt.signed_bytes, jwt.signature);
      })) {
    return challenges_.invalid_token("the token is not signed with a key of the issuer");
  }
  if (const auto refusal = check_claims(jwt.claims, expected_, clock_())) {
    return challenges_.invalid_token(refusal->why);
  }
  const auto granted = scopes_of(jwt.claims);
  const auto has = [&granted](const std::string& scope) {
    return std::find(granted.begin(), granted.end(), scope) != granted.end();
  };
  const auto has_all = [&has](const std::vector<std::string>& scopes) {
    return std::all_of(scopes.begin(), scopes.end(), has);
  };
  Subject subject{options_.issuer, jwt.claims->at("sub").get<std::string>()};
  subject.is_for_metrics = !options_.metrics_scopes.empty() && has_all(options_.metrics_scopes);
  subject.may_change = !subject.is_for_metrics && has_all(options_.change_scopes);
  if (!subject.is_for_metrics && !has_all(options_.scopes)) return challenges_.insufficient_scope();
  return subject;
}

std::vector<std::string> ResourceServer::all_scopes() const {
  std::vector<std::string> all = options_.scopes;
  for (const std::string& scope : options_.change_scopes) {
    if (std::find(all.begin(), all.end(), scope) == all.end()) all.push_back(scope);
  }
  return all;
}

nlohmann::json ResourceServer::metadata() const {
  nlohmann::json document = {{"resource", options_.resource},
                             {"resource_name", "hutch"},
                             {"authorization_servers", {options_.issuer}},
                             {"bearer_methods_supported", {"header"}}};
  if (const auto scopes = all_scopes(); !scopes.empty()) document["scopes_supported"] = scopes;
  return document;
}

std::vector<std::string> ResourceServer::metadata_paths() const {
  std::vector<std::string> paths = {std::string(kWellKnown)};
  if (const std::string path = path_of(options_.resource); !path.empty()) {
    paths.push_back(paths.front() + path);
  }
  return paths;
}

}  // namespace mcp::auth
