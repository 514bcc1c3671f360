// /sandboxes/{id}/files: reading, listing and uploading.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "mcp/http/route.h"
#include "sandbox/files/box_files.h"
#include "sessions/session.h"
#include "tools/tools.h"

namespace tools::api {

inline constexpr std::size_t kUploadBytesMax = sandbox::files::kWriteBytesMax;
inline constexpr std::size_t kFramingBytesMax = std::size_t{1} << 20;  // of multipart around a file

// The session of the request's {id}, which has not ended. In sandboxes.cc.
base::Result<sessions::Session> sandbox_of(const Services& services,
                                           const mcp::http::Request& request);

std::vector<mcp::http::Route> sandbox_file_routes(const Services& services);
// In upload_routes.cc.
std::vector<mcp::http::Route> upload_routes_of(const Services& services);

}  // namespace tools::api
