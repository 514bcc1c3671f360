// Finds who asks over HTTP, by the tokens of the store and, where there is one, those of an
// authorization server. Both lead to a principal of the store.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "mcp/auth/authenticator.h"
#include "mcp/auth/resource_server.h"
#include "mcp/http/route.h"
#include "mcp/server.h"

namespace sessions {
class PrincipalTable;
class TokenTable;
}  // namespace sessions

namespace tools {

// `oauth` may be null. `on_fault` hears of what is no client's fault. The tables outlive it.
mcp::auth::Authenticator make_authenticator(sessions::PrincipalTable& principals,
                                            sessions::TokenTable& tokens,
                                            std::shared_ptr<mcp::auth::ResourceServer> oauth,
                                            std::function<void(const std::string& what)> on_fault);

// Refuses what changes something to those whose token may only read. The server outlives it.
mcp::auth::Authorizer make_authorizer(const mcp::Server& server,
                                      const std::shared_ptr<mcp::auth::ResourceServer>& oauth);

// Makes the check that comes before a message is read: it refuses a principal whose token is not
// for routes of the kind that is asked.
std::function<std::optional<mcp::auth::Challenge>(const mcp::Principal&, mcp::http::Route::Access)>
make_route_authorizer(const std::shared_ptr<mcp::auth::ResourceServer>& oauth);

}  // namespace tools
