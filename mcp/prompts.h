// Prompts as the protocol sees them: a description, and a function from arguments to messages.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "mcp/call_context.h"
#include "mcp/completion.h"
#include "mcp/input_required.h"
#include "base/json_value.h"
#include "mcp/message.h"

namespace mcp {

struct PromptArgument {
  std::string name;
  std::string title;  // empty: none
  std::string description;
  bool required = false;
};

struct PromptResult {
  std::string description;                              // empty: none
  base::JsonValue messages = base::JsonValue::array();  // in the form of the newest revision
};

using PromptAnswer = std::variant<PromptResult, InputRequired, RpcError>;
using PromptArguments = std::map<std::string, std::string>;

struct Prompt {
  std::string name;
  std::string title;  // empty: none
  std::string description;
  std::vector<PromptArgument> arguments;
  // Gets what the client gave; the required ones are there. Called from many threads at once.
  std::function<PromptAnswer(const PromptArguments& arguments, CallContext& context)> get;
  // When it is null, there are no suggestions.
  std::function<Completion(const CompletionQuery& query, CallContext& context)> complete = nullptr;
};

}  // namespace mcp
