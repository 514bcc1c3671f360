// The ways in which a request is turned away, as RFC 6750 section 3 and RFC 9728 section 5.1 say
// it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mcp/auth/authenticator.h"

namespace mcp::auth {

class Challenges {
 public:
  // Makes challenges that point to no authorization server: a client that speaks OAuth must not
  // look for one.
  Challenges() = default;
  // Makes challenges that point to one, by the metadata at `metadata_url`. Neither argument holds
  // quotes, backslashes or control characters.
  Challenges(std::string metadata_url, const std::vector<std::string>& scopes);

  [[nodiscard]] Challenge no_token() const;
  [[nodiscard]] Challenge malformed() const;
  [[nodiscard]] Challenge invalid_token(std::string_view why) const;
  [[nodiscard]] Challenge insufficient_scope() const;
  // Refuses a token that may do less than what was asked for; `scopes` are all that this needs.
  [[nodiscard]] Challenge insufficient_scope(std::string_view why,
                                             const std::vector<std::string>& scopes) const;
  // It is not the client's fault: nothing can be checked now.
  [[nodiscard]] static Challenge unavailable(std::string_view why);

 private:
  [[nodiscard]] Challenge challenge(int status, std::string_view error, std::string_view why) const;
  [[nodiscard]] Challenge challenge(int status, std::string_view error, std::string_view why,
                                    std::string_view scope) const;

  std::string metadata_url_;  // empty: none
  std::string scope_;         // separated by spaces
};

}  // namespace mcp::auth
