// Speaks as E2B's SDKs do: their control API, envd's processes and files, and the code interpreter.
// E2B_API_URL and E2B_SANDBOX_URL are this server's address, E2B_API_KEY is a token of hutch.
#pragma once

#include <vector>

#include "mcp/http/route.h"
#include "tools/arguments.h"
#include "tools/tools.h"

namespace tools::api::e2b {

// Returns all routes of the functions below that return routes.
std::vector<mcp::http::Route> routes(const Services& services);

base::Result<mcp::http::Response> list_sandboxes(const Services& services,
                                                 const mcp::http::Request& request);

std::vector<mcp::http::Route> control_routes(const Services& services);
std::vector<mcp::http::Route> listing_routes(const Services& services);
std::vector<mcp::http::Route> process_routes(const Services& services);
std::vector<mcp::http::Route> filesystem_routes(const Services& services);
std::vector<mcp::http::Route> watch_routes(const Services& services);
std::vector<mcp::http::Route> interpreter_routes(const Services& services);

}  // namespace tools::api::e2b
