// Describes what is served over HTTP beside MCP, as OpenAPI 3.1 has it: made from the routes
// themselves.
#pragma once

#include <string>
#include <vector>

#include "mcp/http/route.h"

namespace tools::api {

// Makes the route GET /openapi.json, which describes those of `routes` that have a
// method and a path.
mcp::http::Route openapi_route(const std::vector<mcp::http::Route>& routes,
                               const std::string& version);

}  // namespace tools::api
