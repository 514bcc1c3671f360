#include "mcp/auth/challenges.h"

#include <utility>

#include "base/text.h"

namespace mcp::auth {

Challenges::Challenges(std::string metadata_url, const std::vector<std::string>& scopes)
    : metadata_url_(std::move(metadata_url)), scope_(base::join(scopes, " ")) {}

Challenge Challenges::challenge(int status, std::string_view error, std::string_view why) const {
  return challenge(status, error, why, scope_);
}

Challenge Challenges::challenge(int status, std::string_view error, std::string_view why,
                                std::string_view scope) const {
  Challenge result;
  result.status = status;
  result.message = why;
  std::string& header = result.www_authenticate;
  const auto add = [&header](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    header += header.ends_with("Bearer") ? " " : ", ";
    header.append(name).append("=\"").append(value).append("\"");
  };
  header = "Bearer";
  add("realm", "hutch");
  add("error", error);
  if (!error.empty()) add("error_description", why);
  add("scope", scope);
  add("resource_metadata", metadata_url_);
  return result;
}

Challenge Challenges::no_token() const {
  return challenge(401, "",
                   metadata_url_.empty()
                       ? "a token is needed: send Authorization: Bearer TOKEN with one that hutch "
                         "token create has printed"
                       : "a token is needed: send Authorization: Bearer TOKEN");
}

Challenge Challenges::malformed() const {
  return challenge(400, "invalid_request", "the Authorization header is no Bearer token");
}

Challenge Challenges::invalid_token(std::string_view why) const {
  return challenge(401, "invalid_token", why);
}

Challenge Challenges::insufficient_scope() const {
  return challenge(403, "insufficient_scope", "the token lacks a scope that is needed");
}

Challenge Challenges::insufficient_scope(std::string_view why,
                                         const std::vector<std::string>& scopes) const {
  return challenge(403, "insufficient_scope", why, base::join(scopes, " "));
}

Challenge Challenges::unavailable(std::string_view why) {
  Challenge result;
  result.status = 503;
  result.message = why;
  return result;
}

}  // namespace mcp::auth
