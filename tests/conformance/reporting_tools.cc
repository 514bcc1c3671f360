// Tools that say something while they run, and one whose stream is closed meanwhile.
#include "tests/conformance/content.h"

#include <nlohmann/json.hpp>
#include "tests/conformance/fixtures.h"

namespace conformance {

using nlohmann::json;

namespace {

mcp::ToolAnswer log_thrice(const json&, mcp::CallContext& context) {
  for (const char* line :
       {"Tool execution started", "Tool processing data", "Tool execution completed"}) {
    context.log(mcp::LogLevel::kInfo, "conformance", line);
  }
  return text_result("Logged three messages.");
}

mcp::ToolAnswer report_thrice(const json&, mcp::CallContext& context) {
  for (const double done : {0.0, 50.0, 100.0}) {
    context.report_progress(done, 100, "Completed " + std::to_string(static_cast<int>(done)));
  }
  return text_result("Reported progress three times.");
}

}  // namespace

void add_reporting_tools(mcp::Server& server) {
  server.enable_logging();
  add_tool(server, "test_tool_with_logging", "Sends three log messages", log_thrice);
  add_tool(server, "test_logging_tool", "Sends three log messages", log_thrice);
  add_tool(server, "test_tool_with_progress", "Reports progress three times", report_thrice);
  add_tool(server, "test_reconnection", "Makes the client resume its stream",
           [](const json&, mcp::CallContext&) -> mcp::ToolAnswer {
             return text_result("The stream was resumed.");
           });
}

}  // namespace conformance
