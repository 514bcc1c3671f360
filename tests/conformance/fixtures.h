// Offers what the conformance suite expects of a server under test, by theme; one .cc file each.
// Names and texts are the suite's: https://github.com/modelcontextprotocol/conformance
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "mcp/server.h"
#include "tests/conformance/task_table.h"

namespace conformance {

// A tool that takes any object, unless a schema says what.
void add_tool(mcp::Server& server, const std::string& name, const std::string& description,
              decltype(mcp::Tool::call) call, nlohmann::json input_schema = nullptr);

void add_content_tools(mcp::Server& server);
void add_reporting_tools(mcp::Server& server);
// Their questions go to clients that begin with initialize, while the call runs.
void add_asking_tools(mcp::Server& server);
// Their questions are the answer, and the client calls again.
void add_input_required_tools(mcp::Server& server);
void add_schema_tools(mcp::Server& server);
void add_stateless_tools(mcp::Server& server);
// `tasks` outlives the server.
void add_task_tools(mcp::Server& server, TaskTable& tasks);
void add_prompts(mcp::Server& server);
void add_resources(mcp::Server& server);

}  // namespace conformance
