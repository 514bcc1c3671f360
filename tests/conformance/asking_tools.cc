// Tools that put a question to the client while they run, and wait for the answer.
#include <chrono>

#include <nlohmann/json.hpp>

#include "tests/conformance/content.h"
#include "tests/conformance/fixtures.h"
#include "tests/conformance/schemas.h"

namespace conformance {

using nlohmann::json;

namespace {

constexpr std::chrono::seconds kPatience{30};

std::string text_argument(const json& arguments, const char* name) {
  const auto given = arguments.find(name);
  return given != arguments.end() && given->is_string() ? given->get<std::string>() : "";
}

mcp::ToolAnswer sample(const json& arguments, mcp::CallContext& context) {
  const json message = {{"role", "user"},
                        {"content", text_block(text_argument(arguments, "prompt"))}};
  auto answer =
      context.ask_client("sampling/createMessage",
                         {{"messages", json::array({message})}, {"maxTokens", 100}}, kPatience);
  if (const auto* none = std::get_if<mcp::NoAnswer>(&answer)) {
    return error_result("No response: " + none->message);
  }
  const json& content = std::get<json>(answer).value("content", json::object());
  return text_result("LLM response: " + content.value("text", content.dump()));
}

// The client's answer to a form, or why there is none.
std::variant<json, mcp::ToolResult> fill_in(mcp::CallContext& context, const std::string& message,
                                            const json& schema) {
  auto answer = context.ask_client("elicitation/create",
                                   {{"message", message}, {"requestedSchema", schema}}, kPatience);
  if (const auto* none = std::get_if<mcp::NoAnswer>(&answer)) {
    return error_result("No response: " + none->message);
  }
  return std::get<json>(std::move(answer));
}

mcp::ToolAnswer elicit(const json& arguments, mcp::CallContext& context) {
  auto answer =
      fill_in(context, text_argument(arguments, "message"),
              object_schema({{"username", {{"type", "string"}}}, {"email", {{"type", "string"}}}}));
  if (auto* failed = std::get_if<mcp::ToolResult>(&answer)) return std::move(*failed);
  return text_result("User response: " + std::get<json>(answer).dump());
}

// A tool that asks for one form and tells what came back.
void add_form(mcp::Server& server, const std::string& name, const std::string& description,
              const json& properties) {
  mcp::Tool tool;
  tool.name = name;
  tool.description = description;
  tool.call = [properties](const json&, mcp::CallContext& context) -> mcp::ToolAnswer {
    auto answer = fill_in(context, "Please fill in the form",
                          {{"type", "object"}, {"properties", properties}});
    if (auto* failed = std::get_if<mcp::ToolResult>(&answer)) return std::move(*failed);
    const json& given = std::get<json>(answer);
    return text_result("Elicitation completed: action=" + given.value("action", "") +
                       ", content=" + given.value("content", json::object()).dump());
  };
  server.add_tool(std::move(tool));
}

json titled(const json& titles) {
  json options = json::array();
  int number = 0;
  for (const json& title : titles) {
    options.push_back({{"const", "value" + std::to_string(++number)}, {"title", title}});
  }
  return options;
}

json with_defaults() {
  return {
      {"name", {{"type", "string"}, {"default", "John Doe"}}},
      {"age", {{"type", "integer"}, {"default", 30}}},
      {"score", {{"type", "number"}, {"default", 95.5}}},
      {"status",
       {{"type", "string"}, {"enum", {"active", "inactive", "pending"}}, {"default", "active"}}},
      {"verified", {{"type", "boolean"}, {"default", true}}}};
}

json every_enum() {
  const json plain = {{"type", "string"}, {"enum", {"option1", "option2", "option3"}}};
  return {
      {"untitledSingle", plain},
      {"titledSingle",
       {{"type", "string"}, {"oneOf", titled({"First Option", "Second Option", "Third Option"})}}},
      {"legacyEnum",
       {{"type", "string"},
        {"enum", {"opt1", "opt2", "opt3"}},
        {"enumNames", {"Option One", "Option Two", "Option Three"}}}},
      {"untitledMulti", {{"type", "array"}, {"items", plain}}},
      {"titledMulti",
       {{"type", "array"},
        {"items", {{"anyOf", titled({"First Choice", "Second Choice", "Third Choice"})}}}}}};
}

}  // namespace

void add_asking_tools(mcp::Server& server) {
  mcp::Tool sampling;
  sampling.name = "test_sampling";
  sampling.description = "Has the client's model answer a prompt";
  sampling.input_schema = text_schema("prompt", "What to ask the model");
  sampling.call = sample;
  server.add_tool(std::move(sampling));

  mcp::Tool elicitation;
  elicitation.name = "test_elicitation";
  elicitation.description = "Asks the user";
  elicitation.input_schema = text_schema("message", "What to ask the user");
  elicitation.call = elicit;
  server.add_tool(std::move(elicitation));

  add_form(server, "test_elicitation_sep1034_defaults", "Asks with a default for each field",
           with_defaults());
  add_form(server, "test_elicitation_sep1330_enums", "Asks with every form of enumeration",
           every_enum());
}

}  // namespace conformance
