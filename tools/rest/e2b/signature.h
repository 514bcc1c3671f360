// URLs of files that need no header: E2B's SDKs sign them with the access token of the sandbox.
#pragma once

#include <string>

#include "mcp/http/message.h"
#include "sandbox/base/result.h"

namespace tools::rest::e2b {

// Version 1: SHA-256 of "path:operation:username:token", and ":" with the second since 1970 until
// which it holds, if there is one. kNotFound: it is not the signature of this request, or its time
// is over.
base::Status check_signature(const mcp::http::Request& request, const std::string& token);

}  // namespace tools::rest::e2b
