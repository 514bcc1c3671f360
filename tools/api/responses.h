// /v1/responses: runs and shared files in the shapes of Perplexity's Agent API. There is no model
// here: whoever has one posts the code that it wrote. A response is a session of that name; what is
// posted under one id is in one container, and in one answer.
#pragma once

#include <vector>

#include "mcp/http/route.h"
#include "tools/tools.h"

namespace tools::api {

std::vector<mcp::http::Route> response_routes(const Services& services);

}  // namespace tools::api
