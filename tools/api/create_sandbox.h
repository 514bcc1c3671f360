// POST /sandboxes, which Sandbase and E2B both have, and POST /v2/sandboxes, which E2B has.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "mcp/http/message.h"
#include "tools/arguments.h"
#include "tools/tools.h"

namespace tools::api {

// Makes a sandbox for clients of both: the members of the body say whose it is.
std::vector<Argument> creation_body();
base::Result<mcp::http::Response> create_sandbox(const Services& services,
                                                 const mcp::http::Request& request,
                                                 const Arguments& body);

namespace e2b {

std::vector<Argument> creation_body();
base::Result<mcp::http::Response> create_sandbox(const Services& services,
                                                 const mcp::http::Request& request,
                                                 const Arguments& body);
// Returns the template that is meant, which is empty where it is the one that sessions have
// unasked.
std::string template_of(const std::string& wanted);

}  // namespace e2b
}  // namespace tools::api
