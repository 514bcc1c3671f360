// Tools that answer with one kind of content each.
#include "tests/conformance/content.h"

#include <nlohmann/json.hpp>
#include "tests/conformance/fixtures.h"

namespace conformance {

using nlohmann::json;

namespace {

void add(mcp::Server& server, const std::string& name, const std::string& description,
         mcp::ToolResult result) {
  add_tool(server, name, description,
           [result = std::move(result)](const json&, mcp::CallContext&) -> mcp::ToolAnswer {
             return result;
           });
}

}  // namespace

void add_content_tools(mcp::Server& server) {
  add(server, "test_simple_text", "Answers with a text",
      text_result("This is a simple text response for testing."));
  add(server, "test_image_content", "Answers with an image",
      result_of(json::array({image_block()})));
  add(server, "test_audio_content", "Answers with a sound",
      result_of(json::array({{{"type", "audio"}, {"data", kWav}, {"mimeType", "audio/wav"}}})));
  add(server, "test_embedded_resource", "Answers with an embedded resource",
      result_of(json::array({resource_block("test://embedded-resource", "text/plain",
                                            "This is an embedded resource content.")})));
  add(server, "test_multiple_content_types", "Answers with several kinds of content",
      result_of(json::array({text_block("Multiple content types test:"), image_block(),
                             resource_block("test://mixed-content-resource", "application/json",
                                            R"({"test":"data","value":123})")})));
  add(server, "test_error_handling", "Fails always",
      error_result("This tool intentionally returns an error for testing"));
}

}  // namespace conformance
