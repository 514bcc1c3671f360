// /sandboxes/{id}/files: reading, listing and uploading.
#pragma once

#include <vector>

#include "base/result.h"
#include "mcp/http/route.h"
#include "sessions/session.h"
#include "sessions/store.h"
#include "tools/tools.h"

namespace tools::api {

// The session of the request's {id}, which has not ended. In sandboxes.cc.
base::Result<sessions::Session> sandbox_of(const Services& services,
                                           const mcp::http::Request& request);

std::vector<mcp::http::Route> sandbox_file_routes(const Services& services);
// In upload_routes.cc.
std::vector<mcp::http::Route> upload_routes_of(const Services& services);

}  // namespace tools::api
