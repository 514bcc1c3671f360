// URLs of files that need no header: E2B's SDKs sign them with the access token of the sandbox.
#pragma once

#include <string>

#include "base/result.h"
#include "mcp/http/message.h"

namespace tools::api::e2b {

// Checks a signature of version 1: SHA-256 of "path:operation:username:token", and ":" with the
// second since 1970 until which it holds, if there is one. Fails, as 401, when it is not the
// signature of this request, or its time is over.
base::Status check_signature(const mcp::http::Request& request, const std::string& token);

// Returns the error of a wrong signature, also for a sandbox that is not there, so that nobody
// learns which ones are.
base::Error wrong_signature();

}  // namespace tools::api::e2b
