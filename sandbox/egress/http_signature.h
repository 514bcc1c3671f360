// Requests signed for AWS and what speaks like it: Signature Version 4 (the IAM User Guide,
// "Signature Version 4 for API requests").
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

#include "base/result.h"

namespace sandbox::egress {

struct SigningKey {
  std::string id;
  std::string secret;
  std::string token;  // the session token of a temporary key; else empty
};

struct SigningScope {
  std::string region;
  std::string service;
};

// Reads "id:secret", "id:secret:token", or what a credential process of the AWS command line
// prints. Returns nothing for any other text.
std::optional<SigningKey> signing_key_of(const std::string& value);

// Returns the scope in which the code itself has signed the request, with whatever key it has; else
// the one that the name of a host at amazonaws.com tells. Returns nothing when neither tells one.
std::optional<SigningScope> signing_scope_of(const boost::beast::http::request_header<>& head,
                                             std::string_view host);

// Returns what the request says of its body: its hash, or that it is not signed. Returns an empty
// text when it says nothing, so that the body has to be hashed; returns nothing when parts are
// signed one by one, which nobody can sign anew.
std::optional<std::string> payload_told_by(const boost::beast::http::request_header<>& head,
                                           const SigningScope& scope);

// Signs the request, in place of any signature that is there. `head` has the host and the target as
// they are sent. Returns the secrets that no answer may bring back.
base::Result<std::vector<std::string>> sign(const SigningKey& key, const SigningScope& scope,
                                            const std::string& payload, std::time_t now,
                                            boost::beast::http::request_header<>& head);

}  // namespace sandbox::egress
