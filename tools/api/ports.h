// Servers in sessions, from outside: at hosts of their own ("3000-session-k2.example.org") with a
// link or the session's access token, and below /ports/ with a token of the principal.
#pragma once

#include <string>
#include <vector>

#include "mcp/http/route.h"
#include "tools/tools.h"

namespace tools::api {

std::vector<mcp::http::Route> port_routes(const Services& services);

}  // namespace tools::api
