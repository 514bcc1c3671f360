// /sandboxes: sandboxes, processes and files as Sandbase has them, and E2B for its control of them.
// A sandbox is a session that ends with its timeout.
#pragma once

#include <vector>

#include "mcp/http/route.h"
#include "tools/tools.h"

namespace tools::api {

std::vector<mcp::http::Route> sandbox_routes(const Services& services);

}  // namespace tools::api
