// Values of Mcp-* headers: the plain text, or =?base64?...?= around what a header cannot carry.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mcp::http {

// A header may have such text: it holds no control character but the tab, so neither CR nor LF.
bool is_text(std::string_view value);

// Returns the value trimmed; nothing for base64 that is none, as base::from_base64() has it. Text
// that only begins like base64 stands for itself.
std::optional<std::string> decode_header_value(std::string_view value);

}  // namespace mcp::http
