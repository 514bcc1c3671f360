// A small set of tools that show what a client of each revision gets to see.
#pragma once

#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "mcp/server.h"

namespace mcp::fake {

inline nlohmann::json text_block(const std::string& text) {
  return {{"type", "text"}, {"text", text}};
}

inline ToolResult text_result(const std::string& text) {
  ToolResult result;
  result.content->push_back(text_block(text));
  return result;
}

inline Tool make_tool(const std::string& name,
                      std::function<ToolResult(const nlohmann::json&, CallContext&)> call) {
  Tool tool;
  tool.name = name;
  tool.description = "For tests: " + name;
  tool.call = std::move(call);
  return tool;
}

// Gives its arguments back, as text and structured.
inline Tool echo() {
  Tool tool = make_tool("echo", [](const nlohmann::json& arguments, CallContext&) {
    ToolResult result = text_result(arguments.dump());
    result.structured_content = arguments;
    return result;
  });
  tool.title = "Echo";
  tool.input_schema =
      nlohmann::json{{"type", "object"}, {"properties", {{"text", {{"type", "string"}}}}}};
  tool.output_schema = nlohmann::json{{"type", "object"}};
  tool.annotations = nlohmann::json{{"title", "Echo"}, {"readOnlyHint", true}};
  return tool;
}

// One block of each kind.
inline Tool everything() {
  return make_tool("everything", [](const nlohmann::json&, CallContext&) {
    ToolResult result = text_result("a text");
    result.content->push_back({{"type", "image"}, {"data", "aW1n"}, {"mimeType", "image/png"}});
    result.content->push_back({{"type", "audio"}, {"data", "d2F2"}, {"mimeType", "audio/wav"}});
    result.content->push_back({{"type", "resource_link"},
                               {"uri", "https://host/f"},
                               {"name", "f.csv"},
                               {"mimeType", "text/csv"},
                               {"size", 5}});
    result.content->push_back(
        {{"type", "resource"}, {"resource", {{"uri", "file:///f"}, {"text", "embedded"}}}});
    result.structured_content = nlohmann::json{{"rows", 5}};
    return result;
  });
}

// Reports progress that grows, stands still, falls and is no number.
inline Tool progress() {
  return make_tool("progress", [](const nlohmann::json&, CallContext& context) {
    context.report_progress(0, 2, "begun");
    context.report_progress(0, 2, "stands still");
    context.report_progress(1.5, 2, "");
    context.report_progress(1, 2, "falls");
    context.report_progress(std::nan(""), 2, "no number");
    context.report_progress(2, std::nullopt, "done");
    return text_result(context.wants_progress() ? "wanted" : "not wanted");
  });
}

// Returns a tool that says what it is told of its surroundings.
inline Tool who() {
  return make_tool("who", [](const nlohmann::json&, CallContext& context) {
    ToolResult result;
    const nlohmann::json seen = {{"client", context.client().name},
                                 {"client_version", context.client().version},
                                 {"connection", context.connection_id()},
                                 {"revision", wire::format_of(context.revision()).name},
                                 {"resource_links", context.has_resource_links()},
                                 {"structured_content", context.has_structured_content()},
                                 {"cancelled", context.cancelled().stop_requested()},
                                 {"disconnected", context.disconnected()}};
    result.content->push_back(text_block(seen.dump()));
    return result;
  });
}

inline Server make_server() {
  Server server({"fake", "Fake server", "1.2.3", "Say please.", "https://example.org"});
  server.add_tool(echo());
  server.add_tool(everything());
  server.add_tool(progress());
  server.add_tool(who());
  server.add_tool(make_tool("fail", [](const nlohmann::json&, CallContext&) {
    ToolResult result = text_result("no such session: make one with create_session");
    result.is_error = true;
    return result;
  }));
  server.add_tool(make_tool("throw", [](const nlohmann::json&, CallContext&) -> ToolResult {
    throw std::runtime_error("a secret of the server");
  }));
  server.add_tool(make_tool("throw_number", [](const nlohmann::json&, CallContext&) -> ToolResult {
    throw 5;  // NOLINT: what is no std::exception must not end the server either
  }));
  server.add_tool(make_tool("no_utf8", [](const nlohmann::json&, CallContext&) {
    return text_result("before \xff\xc3 after");
  }));
  server.add_tool(make_tool("structured_list", [](const nlohmann::json&, CallContext&) {
    ToolResult result = text_result("[1, 2]");
    result.structured_content = nlohmann::json::array({1, 2});
    return result;
  }));
  server.add_tool(make_tool("no_blocks", [](const nlohmann::json&, CallContext&) {
    ToolResult result;
    result.content = nlohmann::json{1, 2};
    return result;
  }));
  return server;
}

}  // namespace mcp::fake
