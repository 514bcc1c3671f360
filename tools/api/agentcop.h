// /api/sandbox: sandboxes and runs as Agentcop has them. A sandbox is a session that ends with its
// timeout, and whose record stays.
#pragma once

#include <vector>

#include "mcp/http/route.h"
#include "tools/tools.h"

namespace tools::api {

std::vector<mcp::http::Route> agentcop_routes(const Services& services);

}  // namespace tools::api
