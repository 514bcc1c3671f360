// Tools as the protocol sees them: a description, and a function from arguments to a result.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include <nlohmann/json_fwd.hpp>

#include "mcp/call_context.h"
#include "mcp/input_required.h"
#include "base/json_value.h"
#include "mcp/message.h"
#include "mcp/tasks.h"
#include "mcp/tool_result.h"

namespace mcp {

// A Task says that the call goes on as one, where CallContext::task_wish() lets it. An RpcError is
// for what the protocol itself forbids; whatever else goes wrong is a result with is_error.
using ToolAnswer = std::variant<ToolResult, InputRequired, Task, RpcError>;

enum class TaskSupport { kForbidden, kOptional, kRequired };

struct Tool {
  std::string name;
  std::string title;  // empty: none
  std::string description;
  base::JsonValue input_schema;   // an object; null: any object
  base::JsonValue output_schema;  // null: none
  base::JsonValue annotations;    // null: none
  // Gets an object. Checks it itself: a wrong argument is a result with is_error. Called from many
  // threads at once. What it throws is a bug, reported to the client as -32603.
  std::function<ToolAnswer(const nlohmann::json& arguments, CallContext& context)> call;
  TaskSupport task_support = TaskSupport::kForbidden;
  base::JsonValue meta = nullptr;   // an object for _meta; null: none
  base::JsonValue icons = nullptr;  // an array; null: none
  bool listed = true;               // false: can be called, but tools/list does not name it
};

}  // namespace mcp
