// What the headers of a 2026-07-28 POST say about its body, and whether that is true.
#pragma once

#include <optional>

#include "mcp/http/message.h"
#include "mcp/message.h"
#include "mcp/request_meta.h"
#include "mcp/server.h"

namespace mcp::http {

// Of a request whose _meta has been read; kHeaderMismatch or kUnsupportedProtocolVersion.
std::optional<RpcError> check_standard_headers(const Request& request, const Message& message,
                                               const ModernMeta& meta);

// Mcp-Param-*: arguments that the input schema of the called tool marks with x-mcp-header.
std::optional<RpcError> check_parameter_headers(const Request& request, const Message& message,
                                                const Server& server);

// A revision of the modern era in the MCP-Protocol-Version header.
bool header_is_modern(const Request& request);

}  // namespace mcp::http
