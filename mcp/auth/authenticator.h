// The question every HTTP request is asked before anything else is read from it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "mcp/message.h"
#include "mcp/principal.h"

namespace mcp::auth {

// Why a request is not let in. RFC 6750 section 3, RFC 9728 section 5.1.
struct Challenge {
  int status = 401;              // 400 malformed, 401 no or no valid token, 403 scope missing,
                                 // 503 cannot be checked now
  std::string www_authenticate;  // value of the header; empty: none is sent
  std::string message;           // for the body: what to do
  std::string json_body = {};    // in place of what is made of the message; empty: that
};

// `authorization` is the value of that header, empty when there was none. Called from many threads.
using Authenticator =
    std::function<std::variant<Principal, Challenge>(std::string_view authorization)>;

// Decides whether what is asked for may be done: returns what to tell a client whose token may not,
// else nothing. Called before anything else is made of a message.
using Authorizer =
    std::function<std::optional<Challenge>(const Principal& principal, const Message& message)>;

}  // namespace mcp::auth
