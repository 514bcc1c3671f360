// tools/list, tools/call.
#include <exception>

#include <nlohmann/json.hpp>

#include "mcp/client_capabilities.h"
#include "mcp/handlers.h"
#include "mcp/task_followers.h"
#include "mcp/wire/shape.h"
#include "mcp/wire/task_shape.h"

namespace mcp {

using nlohmann::json;

namespace {

RpcError needs_tasks() {
  return {kMissingClientCapability, "this tool runs as a task only",
          json{{"requiredCapabilities", {{"extensions", {{kTasksExtension, json::object()}}}}}},
          nullptr};
}

bool knows_tasks(const Server& server, const json& declared) {
  return server.tasks() != nullptr && has_extension(declared, kTasksExtension);
}

// Returns what the client's wish for a task comes to with this tool; an error where the two do not
// go together.
std::variant<TaskWish, RpcError> task_wish(const Server& server, const Tool& tool,
                                           const Call& call) {
  const TaskSupport support = tool.task_support;
  if (call.format().modern) {
    const bool knows = knows_tasks(server, call.client_capabilities());
    if (!knows && support == TaskSupport::kRequired) return needs_tasks();
    const bool may = knows && support != TaskSupport::kForbidden;
    return may ? TaskWish::kAllowed : TaskWish::kImpossible;
  }
  const bool served = server.tasks() != nullptr && call.format().has_core_tasks;
  const bool asked = served && call.params().contains("task");
  if (asked && !call.params().at("task").is_object()) return wrong_params("task must be an object");
  if (asked && support == TaskSupport::kForbidden) {
    return RpcError{kMethodNotFound, "this tool cannot run as a task", nullptr, nullptr};
  }
  if (!asked && support == TaskSupport::kRequired) {
    return RpcError{kMethodNotFound, "this tool runs as a task only", nullptr, nullptr};
  }
  return asked ? TaskWish::kDemanded : TaskWish::kImpossible;
}

std::string text_of(const ToolResult& result) {
  for (const json& block : *result.content) {
    if (block.value("type", "") == "text") return block.value("text", "");
  }
  return "the tool failed";
}

RoundAnswer round_answer(ToolAnswer answer, Call& call) {
  if (auto* wanted = std::get_if<InputRequired>(&answer)) return std::move(*wanted);
  if (auto* error = std::get_if<RpcError>(&answer)) return std::move(*error);
  if (const auto* task = std::get_if<Task>(&answer)) {
    if (call.task_wish() == TaskWish::kImpossible) {
      throw std::logic_error("a task for a client that knows none");
    }
    if (!call.format().modern) {
      call.surroundings().followers->follow(task->id, call.progress_token(), call.format());
    }
    return wire::shape_created_task(*task, call.format());
  }
  auto& result = std::get<ToolResult>(answer);
  if (call.task_wish() == TaskWish::kDemanded) {
    // No task was begun, and nothing but a task may be the result.
    if (result.is_error) return wrong_params(text_of(result));
    throw std::logic_error("no task for a client that has demanded one");
  }
  return wire::shape_tool_result(std::move(result), call.format());
}

Server::Answer run(const Server& server, const Tool& tool, const json& arguments, Call& call) {
  std::string why = "unknown exception";
  try {
    return in_rounds(server, call, [&] { return round_answer(tool.call(arguments, call), call); });
  } catch (const std::exception& failure) {
    why = failure.what();
  } catch (...) {
    // Whatever it was, this request fails and the server lives.
  }
  server.report_fault("tool " + tool.name + ": " + why);
  return RpcError{kInternalError, "internal error in tool " + tool.name, nullptr, nullptr};
}

}  // namespace

std::optional<RpcError> refuse_call(const Server& server, const json& params,
                                    const json& declared) {
  const std::string* name = find_text(params, "name");
  const Tool* tool = name == nullptr ? nullptr : server.find_tool(*name);
  if (tool == nullptr || tool->task_support != TaskSupport::kRequired) return std::nullopt;
  if (knows_tasks(server, declared)) return std::nullopt;
  return needs_tasks();
}

json too_many_calls(const Server& server, const Request& request, int retry_seconds) {
  const std::string why = "too many calls at once: this one was not begun; try again in " +
                          std::to_string(retry_seconds) +
                          (retry_seconds == 1 ? " second" : " seconds");
  const Message& message = request.message;
  // An error is the reply where nothing but a task may be the result, and to any method but
  // tools/call.
  if (message.method != "tools/call" || message.params->contains("task")) {
    return make_error({kInternalError, why, json{{kRetryAfter, retry_seconds}}, message.id});
  }
  // Clients show a model what a tool says, and drop the bodies of errors.
  ToolResult result;
  result.content->push_back({{"type", "text"}, {"text", why}});
  result.is_error = true;
  result.meta = json{{kRetryAfter, retry_seconds}};
  const wire::Format& format = request.format;
  return make_result(message.id,
                     wire::finish_result(wire::shape_tool_result(std::move(result), format),
                                         server.identity(format), format));
}

Server::Answer list_tools(const Server& server, Call& call) {
  // All of them fit one page, so no cursor was ever given out.
  if (cursor_of(call.params()) != "") return wrong_params("unknown cursor");
  json tools = json::array();
  for (const Tool& tool : server.tools()) {
    if (tool.listed) {
      tools.push_back(wire::shape_tool(tool, call.format(), server.tasks() != nullptr));
    }
  }
  json result;
  result["tools"] = std::move(tools);
  wire::add_cache_hints(result, wire::Cache::kPublic, call.format());
  return result;
}

Server::Answer call_tool(const Server& server, Call& call) {
  const std::string* name = find_text(call.params(), "name");
  if (name == nullptr) return wrong_params("tools/call needs the name of a tool");
  const Tool* tool = server.find_tool(*name);
  if (tool == nullptr) return wrong_params("unknown tool: " + name->substr(0, kEchoBytesMax));
  auto wish = task_wish(server, *tool, call);
  if (auto* error = std::get_if<RpcError>(&wish)) return std::move(*error);
  call.set_task_wish(std::get<TaskWish>(wish));
  static const json kNone = json::object();
  const auto given = call.params().find("arguments");
  if (given == call.params().end() || given->is_null()) return run(server, *tool, kNone, call);
  if (!given->is_object()) return wrong_params("arguments must be an object");
  return run(server, *tool, *given, call);
}

}  // namespace mcp
