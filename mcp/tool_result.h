// ToolResult is what a tool gives back.
#pragma once

#include "mcp/json_value.h"

namespace mcp {

struct ToolResult {
  JsonValue content = JsonValue::array();  // content blocks of the newest revision
  JsonValue structured_content = nullptr;  // null: none
  bool is_error = false;
  JsonValue meta = nullptr;  // an object for _meta; null: none
};

}  // namespace mcp
