#include <utility>

#include <nlohmann/json.hpp>

#include "tests/conformance/fixtures.h"

namespace conformance {

void add_tool(mcp::Server& server, const std::string& name, const std::string& description,
              decltype(mcp::Tool::call) call, nlohmann::json input_schema) {
  mcp::Tool tool;
  tool.name = name;
  tool.description = description;
  tool.input_schema = std::move(input_schema);
  tool.call = std::move(call);
  server.add_tool(std::move(tool));
}

}  // namespace conformance
