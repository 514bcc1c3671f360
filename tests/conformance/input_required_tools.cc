// Tools that are called in several rounds: the answers to their questions come with the next call.
#include "tests/conformance/input_required.h"

#include <nlohmann/json.hpp>

#include "tests/conformance/content.h"
#include "tests/conformance/fixtures.h"
#include "tests/conformance/schemas.h"

namespace conformance {

using mcp::CallContext;
using mcp::InputRequired;
using mcp::ToolAnswer;
using nlohmann::json;

namespace {

// The client's answer with that key; null where it is none.
json object_answer(const CallContext& context, const std::string& key) {
  json answer = context.input_responses().value(key, json());
  return answer.is_object() ? answer : json();
}

ToolAnswer ask_name(const json&, CallContext& context) {
  const auto name = given_text(context, "user_name", "name");
  if (!name)
    return InputRequired{json{{"user_name", ask_for_text("What is your name?", "name")}}, {}};
  return text_result("Hello, " + *name + "!");
}

ToolAnswer ask_capital(const json&, CallContext& context) {
  const json answer = object_answer(context, "capital_question");
  if (answer.is_null()) {
    return InputRequired{
        json{{"capital_question", ask_model("What is the capital of France?", 100)}}, {}};
  }
  return text_result("The model says: " + answer.value("content", json()).dump());
}

ToolAnswer ask_roots(const json&, CallContext& context) {
  const json answer = object_answer(context, "client_roots");
  if (answer.is_null()) return InputRequired{json{{"client_roots", ask_for_roots()}}, {}};
  return text_result("Roots: " + answer.value("roots", json::array()).dump());
}

// Also what a changed state is tried on: it never reaches the tool.
ToolAnswer keep_state(const json&, CallContext& context) {
  const json answer = object_answer(context, "confirm");
  const bool is_ours = context.request_state() == "waiting for confirmation";
  if (answer.is_null() || !is_ours) {
    const json form = {{"method", "elicitation/create"},
                       {"params",
                        {{"mode", "form"},
                         {"message", "Please confirm"},
                         {"requestedSchema", object_schema({{"ok", {{"type", "boolean"}}}})}}}};
    return InputRequired{json{{"confirm", form}}, json("waiting for confirmation")};
  }
  return text_result("state-ok: " + answer.value("action", ""));
}

ToolAnswer ask_all(const json&, CallContext& context) {
  const auto name = given_text(context, "user_name", "name");
  const json greeting = object_answer(context, "greeting");
  const json roots = object_answer(context, "client_roots");
  if (!name || greeting.is_null() || roots.is_null() || context.request_state() != "asked") {
    return InputRequired{json{{"user_name", ask_for_text("What is your name?", "name")},
                              {"greeting", ask_model("Generate a greeting", 50)},
                              {"client_roots", ask_for_roots()}},
                         json("asked")};
  }
  return text_result("Everything was answered by " + *name + ".");
}

ToolAnswer ask_step_by_step(const json&, CallContext& context) {
  const json& state = context.request_state();
  const InputRequired first{json{{"step1", ask_for_text("Step 1: What is your name?", "name")}},
                            json{{"step", 1}}};
  if (state.is_null()) return first;
  if (state.at("step") == 1) {
    const auto name = given_text(context, "step1", "name");
    if (!name) return first;
    return InputRequired{
        json{{"step2", ask_for_text("Step 2: What is your favorite color?", "color")}},
        json{{"step", 2}, {"name", *name}}};
  }
  const auto color = given_text(context, "step2", "color");
  if (!color) {
    return InputRequired{
        json{{"step2", ask_for_text("Step 2: What is your favorite color?", "color")}}, state};
  }
  return text_result(state.at("name").get<std::string>() + " likes " + *color + ".");
}

// The protocol core leaves out what the client did not declare.
ToolAnswer ask_what_is_declared(const json&, CallContext& context) {
  if (context.input_responses().empty()) {
    return InputRequired{json{{"user_name", ask_for_text("What is your name?", "name")},
                              {"greeting", ask_model("Generate a greeting", 50)}},
                         {}};
  }
  return text_result("Answered: " + std::to_string(context.input_responses().size()));
}

mcp::PromptAnswer ask_for_context(const mcp::PromptArguments&, CallContext& context) {
  const auto given = given_text(context, "user_context", "context");
  if (!given) {
    return InputRequired{
        json{{"user_context", ask_for_text("What context should the prompt use?", "context")}}, {}};
  }
  mcp::PromptResult result;
  result.messages->push_back({{"role", "user"}, {"content", text_block("Context: " + *given)}});
  return result;
}

void add(mcp::Server& server, const std::string& name, const std::string& description,
         ToolAnswer (*call)(const json&, CallContext&)) {
  add_tool(server, "test_input_required_result_" + name, description, call);
}

}  // namespace

void add_input_required_tools(mcp::Server& server) {
  add(server, "elicitation", "Asks the user for a name", ask_name);
  add(server, "sampling", "Asks the client's model", ask_capital);
  add(server, "list_roots", "Asks for the client's roots", ask_roots);
  add(server, "request_state", "Asks, and keeps a state meanwhile", keep_state);
  add(server, "tampered_state", "Asks, and keeps a state meanwhile", keep_state);
  add(server, "multiple_inputs", "Asks three questions at once", ask_all);
  add(server, "multi_round", "Asks two questions, one after the other", ask_step_by_step);
  add(server, "capabilities", "Asks what the client can answer", ask_what_is_declared);

  mcp::Prompt prompt;
  prompt.name = "test_input_required_result_prompt";
  prompt.description = "Asks the user for the context of the prompt";
  prompt.get = ask_for_context;
  server.add_prompt(std::move(prompt));
}

}  // namespace conformance
