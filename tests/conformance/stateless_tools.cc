// Tools for what has no session: capabilities of one request, streams without questions, changes.
#include <chrono>

#include <nlohmann/json.hpp>

#include "mcp/client_capabilities.h"
#include "tests/conformance/content.h"
#include "tests/conformance/fixtures.h"
#include "tests/conformance/input_required.h"

namespace conformance {

using nlohmann::json;

namespace {

mcp::ToolAnswer need_sampling(const json&, mcp::CallContext& context) {
  json missing =
      mcp::missing_capability(context.client_capabilities(), "sampling/createMessage", {});
  if (missing.is_null()) return text_result("The client can sample.");
  return mcp::RpcError{mcp::kMissingClientCapability, "this tool needs a client that can sample",
                       json{{"requiredCapabilities", std::move(missing)}}, nullptr};
}

// Tries what must not reach a modern client.
mcp::ToolAnswer ask_on_stream(const json&, mcp::CallContext& context) {
  const json question = ask_for_text("What is your name?", "name");
  const auto answer =
      context.ask_client(question.at("method"), question.at("params"), std::chrono::seconds(30));
  const bool was_asked = std::holds_alternative<json>(answer);
  return text_result(was_asked ? "The client was asked." : "The client was not asked.");
}

}  // namespace

void add_stateless_tools(mcp::Server& server) {
  add_tool(server, "test_missing_capability", "Needs a client that can sample", need_sampling);
  add_tool(server, "test_streaming_elicitation", "Tries to ask the user during the call",
           ask_on_stream);
  server.tools_may_change();
  add_tool(server, "test_trigger_tool_change", "Tells that the list of tools has changed",
           [&server](const json&, mcp::CallContext&) -> mcp::ToolAnswer {
             server.changes().tools_changed();
             return text_result("Told.");
           });
  server.prompts_may_change();
  add_tool(server, "test_trigger_prompt_change", "Tells that the list of prompts has changed",
           [&server](const json&, mcp::CallContext&) -> mcp::ToolAnswer {
             server.changes().prompts_changed();
             return text_result("Told.");
           });
}

}  // namespace conformance
