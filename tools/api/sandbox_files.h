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
inline constexpr std::size_t kFramingBytesMax = std::size_t{1} << 20;  // multipart around a file
// Says of a file that has more what can be done.
inline constexpr const char* kTooLargeFile =
    "a file has at most 104857600 bytes (100 MiB) when it is sent: send it in pieces and put them "
    "together in the sandbox with cat, or, on the machine of the server, use hutch cp, or give "
    "sessions its folder with --mount";
static_assert(kUploadBytesMax == 104'857'600);

// Returns the session of the request's {id}, which has not ended. It is in sandboxes.cc.
base::Result<sessions::Session> sandbox_of(const Services& services,
                                           const mcp::http::Request& request);

std::vector<mcp::http::Route> sandbox_file_routes(const Services& services);
// These are in upload_routes.cc.
std::vector<mcp::http::Route> upload_routes_of(const Services& services);

}  // namespace tools::api
