// Serves what sessions have shared to whoever has the link: the file, and a page that shows it.
#pragma once

#include <vector>

#include "mcp/http/route.h"
#include "share/file_share.h"

namespace sessions {
class ShareTable;
}

namespace tools::api {

// Both outlive the routes.
std::vector<mcp::http::Route> shared_routes(sessions::ShareTable& shares,
                                            const share::FileShare& share);

}  // namespace tools::api
