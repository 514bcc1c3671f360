// Blocks of content, and results made of them.
#pragma once

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "mcp/tool_result.h"

namespace conformance {

// One red pixel.
inline constexpr const char* kPng =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJg"
    "gg==";
// A header without samples.
inline constexpr const char* kWav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

inline nlohmann::json text_block(const std::string& text) {
  return {{"type", "text"}, {"text", text}};
}

inline nlohmann::json image_block() {
  return {{"type", "image"}, {"data", kPng}, {"mimeType", "image/png"}};
}

inline nlohmann::json resource_block(const std::string& uri, const std::string& mime_type,
                                     const std::string& text) {
  return {{"type", "resource"},
          {"resource", {{"uri", uri}, {"mimeType", mime_type}, {"text", text}}}};
}

inline mcp::ToolResult result_of(nlohmann::json blocks) {
  mcp::ToolResult result;
  result.content = std::move(blocks);
  return result;
}

inline mcp::ToolResult text_result(const std::string& text) {
  return result_of(nlohmann::json::array({text_block(text)}));
}

inline mcp::ToolResult error_result(const std::string& text) {
  mcp::ToolResult result = text_result(text);
  result.is_error = true;
  return result;
}

}  // namespace conformance
