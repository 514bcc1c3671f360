// What a tool gives back.
#pragma once

#include <nlohmann/json.hpp>

namespace mcp {

struct ToolResult {
  nlohmann::json content = nlohmann::json::array();  // content blocks of the newest revision
  nlohmann::json structured_content = nullptr;       // null: none
  bool is_error = false;
  nlohmann::json meta = nullptr;  // an object for _meta; null: none
};

}  // namespace mcp
