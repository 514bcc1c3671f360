// These functions check what the headers of a 2026-07-28 POST say about its body.
#pragma once

#include <optional>

#include "mcp/http/message.h"
#include "mcp/message.h"
#include "mcp/request_meta.h"
#include "mcp/server.h"

namespace mcp::http {

// Checks MCP-Protocol-Version, Mcp-Method and Mcp-Name of a request whose _meta has been read.
// Returns kHeaderMismatch or kUnsupportedProtocolVersion; nothing when they are right.
std::optional<RpcError> check_standard_headers(const Request& request, const Message& message,
                                               const ModernMeta& meta);

// Checks Mcp-Param-* against the arguments that the input schema of the called tool marks with
// x-mcp-header.
std::optional<RpcError> check_parameter_headers(const Request& request, const Message& message,
                                                const Server& server);

// Returns whether the MCP-Protocol-Version header names a revision of the modern era.
bool header_is_modern(const Request& request);

}  // namespace mcp::http
