// An MCP server over HTTP whose one tool gives back what it gets: what the transport costs, alone.
#include <sys/eventfd.h>

#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

#include "mcp/http/service.h"

int main() {
  mcp::Server server({"echo", "", "1", ""});
  mcp::Tool tool;
  tool.name = "echo";
  tool.description = "Echoes its message";
  tool.input_schema =
      nlohmann::json{{"type", "object"}, {"properties", {{"message", {{"type", "string"}}}}}};
  tool.call = [](const nlohmann::json& arguments, mcp::CallContext&) {
    mcp::ToolResult result;
    result.content->push_back(
        {{"type", "text"}, {"text", "Echo: " + arguments.value("message", "")}});
    return result;
  };
  server.add_tool(tool);
  server.tools_may_change();  // so that there is something to listen for
  mcp::http::ServeOptions options;
  options.address = *mcp::http::parse_address("127.0.0.1:0");
  options.door.authenticate = [](std::string_view) { return mcp::Principal{"bench", {}}; };
  const int never = ::eventfd(0, EFD_CLOEXEC);
  const std::string failure =
      mcp::http::serve(server, options, never, [](mcp::http::Service& service) {
        std::printf("%s\n", service.name().c_str());
        std::fflush(stdout);
      });
  std::fprintf(stderr, "%s\n", failure.c_str());
  return 1;
}
