// ToolResult is what a tool gives back.
#pragma once

#include "base/json_value.h"

namespace mcp {

struct ToolResult {
  base::JsonValue content = base::JsonValue::array();  // content blocks of the newest revision
  base::JsonValue structured_content = nullptr;        // null: none
  bool is_error = false;
  base::JsonValue meta = nullptr;  // an object for _meta; null: none
};

}  // namespace mcp
