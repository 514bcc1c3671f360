// Speaks as E2B's SDKs do: their control API, envd's processes and files, and the code interpreter.
// E2B_API_URL and E2B_SANDBOX_URL are this server's address, E2B_API_KEY is a token of hutch.
#pragma once

#include <string>
#include <vector>

#include "mcp/http/route.h"
#include "tools/arguments.h"
#include "tools/tools.h"

namespace tools::rest::e2b {

// Names the version of envd that is served: the SDKs ask for no more than it had.
inline constexpr const char* kEnvdVersion = "0.6.4";

// Their SDKs know no sandbox without an end: a time that is far away.
std::string end_of_endless(const sessions::Session& session);

// Returns the routes of all functions below.
std::vector<mcp::http::Route> routes(const Services& services);

// These serve POST /v2/sandboxes, and the older /sandboxes where the body says that it is one of
// theirs.
std::vector<Argument> creation_body();
base::Result<mcp::http::Response> create_sandbox(const Services& services,
                                                 const mcp::http::Request& request,
                                                 const Arguments& body);

std::vector<mcp::http::Route> control_routes(const Services& services);
std::vector<mcp::http::Route> listing_routes(const Services& services);
std::vector<mcp::http::Route> process_routes(const Services& services);
std::vector<mcp::http::Route> filesystem_routes(const Services& services);
std::vector<mcp::http::Route> watch_routes(const Services& services);
std::vector<mcp::http::Route> interpreter_routes(const Services& services);

}  // namespace tools::rest::e2b
