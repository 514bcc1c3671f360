// Tools whose input schema is what is looked at.
#include "tests/conformance/content.h"

#include <nlohmann/json.hpp>
#include "tests/conformance/fixtures.h"

namespace conformance {

using nlohmann::json;

namespace {

constexpr const char* kSchemaOf2020 = R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {
    "address": {
      "$anchor": "addressDef",
      "type": "object",
      "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
    }
  },
  "properties": {
    "name": {"type": "string"},
    "address": {"$ref": "#/$defs/address"},
    "contactMethod": {"type": "string", "enum": ["phone", "email"]},
    "phone": {"type": "string"},
    "email": {"type": "string"}
  },
  "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
  "then": {"required": ["phone"]},
  "else": {"required": ["email"]},
  "additionalProperties": false
})";

constexpr const char* kHeaderSchema = R"({
  "type": "object",
  "properties": {
    "region": {"type": "string", "description": "Where to run", "x-mcp-header": "Region"},
    "priority": {"type": "integer", "description": "How soon", "x-mcp-header": "Priority"},
    "dry_run": {"type": "boolean", "description": "Do nothing", "x-mcp-header": "Dry-Run"}
  }
})";

void add(mcp::Server& server, const std::string& name, const std::string& description,
         const char* schema) {
  const auto echo = [](const json& arguments, mcp::CallContext&) -> mcp::ToolAnswer {
    return text_result("Called with " + arguments.dump());
  };
  add_tool(server, name, description, echo, json::parse(schema));
}

}  // namespace

void add_schema_tools(mcp::Server& server) {
  add(server, "json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", kSchemaOf2020);
  add(server, "test_x_mcp_header", "Has parameters that HTTP headers repeat", kHeaderSchema);
}

}  // namespace conformance
