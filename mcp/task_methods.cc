// tasks/get, tasks/cancel, tasks/update, tasks/list, tasks/result: both kinds of tasks from one
// source.
#include <chrono>

#include <nlohmann/json.hpp>

#include "mcp/client_capabilities.h"
#include "mcp/handlers.h"
#include "mcp/task_view.h"
#include "mcp/wire/shape.h"
#include "mcp/wire/task_shape.h"

namespace mcp {

using nlohmann::json;

namespace {

constexpr const char* kRelatedTask = "io.modelcontextprotocol/related-task";

// The task that the call names, or why it gets none.
std::variant<Task, RpcError> named_task(const Server& server, const Call& call) {
  if (auto refused = refuse_tasks(call.format(), call.client_capabilities())) return *refused;
  const std::string* id = find_text(call.params(), "taskId");
  if (id == nullptr) return wrong_params("taskId must be a string");
  auto task = server.tasks()->find(call.principal(), *id);
  if (!task) return wrong_params("unknown task: " + id->substr(0, kEchoBytesMax));
  return std::move(*task);
}

// Puts what a task of 2025-11-25 wants to know to the client. False: it has answered nothing.
bool ask_for_task(const Server& server, Call& call, const Task& task) {
  json responses = json::object();
  for (const auto& [key, request] : task.input_requests->items()) {
    json params = request.value("params", json::object());
    params["_meta"][kRelatedTask] = {{"taskId", task.id}};
    auto answer = call.ask_client(request.at("method").get<std::string>(), std::move(params),
                                  kAnswerPatience);
    if (auto* result = std::get_if<json>(&answer)) responses[key] = std::move(*result);
  }
  if (responses.empty()) return false;
  server.tasks()->update(call.principal(), task.id, responses);
  return true;
}

Server::Answer result_of(const Server& server, const Call& call, const Task& task) {
  auto outcome = server.tasks()->outcome(call.principal(), task.id);
  if (!outcome) {
    return RpcError{
        kInvalidRequest,
        task.status == TaskStatus::kCancelled ? "the task was cancelled" : "the task has no result",
        nullptr, nullptr};
  }
  if (auto* error = std::get_if<RpcError>(&*outcome)) return std::move(*error);
  json result = wire::shape_tool_result(std::get<ToolResult>(std::move(*outcome)), call.format());
  result["_meta"][kRelatedTask] = {{"taskId", task.id}};
  return result;
}

}  // namespace

std::optional<RpcError> refuse_tasks(const wire::Format& format, const json& declared) {
  if (!format.modern || has_extension(declared, kTasksExtension)) return std::nullopt;
  return RpcError{
      kMissingClientCapability, "this needs the tasks extension, which the client did not declare",
      json{{"requiredCapabilities", {{"extensions", {{kTasksExtension, json::object()}}}}}},
      nullptr};
}

json view_task(TaskSource& source, const Principal& principal, const Task& task,
               const json& declared, const wire::Format& format) {
  std::optional<TaskOutcome> outcome;
  if (task.status == TaskStatus::kCompleted || task.status == TaskStatus::kFailed) {
    outcome = source.outcome(principal, task.id);
  }
  if (!format.modern) return wire::shape_task(task, outcome, format);
  json allowed = json::object();
  for (const auto& [key, request] : task.input_requests->items()) {
    if (missing_capability(declared, request.at("method").get<std::string>(),
                           request.value("params", json::object()))
            .is_null()) {
      allowed[key] = request;
    }
  }
  return wire::shape_detailed_task(task, std::move(outcome), allowed, format);
}

Server::Answer get_task(const Server& server, Call& call) {
  auto found = named_task(server, call);
  if (auto* error = std::get_if<RpcError>(&found)) return std::move(*error);
  return view_task(*server.tasks(), call.principal(), std::get<Task>(found),
                   call.client_capabilities(), call.format());
}

Server::Answer cancel_task(const Server& server, Call& call) {
  auto found = named_task(server, call);
  if (auto* error = std::get_if<RpcError>(&found)) return std::move(*error);
  const auto& task = std::get<Task>(found);
  if (!call.format().modern && task.is_terminal()) {
    return wrong_params("the task has ended already");
  }
  if (!task.is_terminal() && !server.tasks()->cancel(call.principal(), task.id)) {
    return RpcError{kInvalidRequest, "this client may not cancel tasks", nullptr, nullptr};
  }
  if (call.format().modern) return json::object();
  const auto now = server.tasks()->find(call.principal(), task.id);
  return wire::shape_task(now.value_or(task), std::nullopt, call.format());
}

Server::Answer update_task(const Server& server, Call& call) {
  auto found = named_task(server, call);
  if (auto* error = std::get_if<RpcError>(&found)) return std::move(*error);
  const auto responses = call.params().find("inputResponses");
  if (responses == call.params().end() || !responses->is_object()) {
    return wrong_params("inputResponses must be an object");
  }
  server.tasks()->update(call.principal(), std::get<Task>(found).id, *responses);
  return json::object();
}

Server::Answer list_tasks(const Server& server, Call& call) {
  const auto cursor = cursor_of(call.params());
  const auto page = cursor ? server.tasks()->list(call.principal(), *cursor) : std::nullopt;
  if (!page) return wrong_params("unknown cursor");
  json result;
  result["tasks"] = json::array();
  for (const Task& task : page->tasks) {
    result["tasks"].push_back(view_task(*server.tasks(), call.principal(), task,
                                        call.client_capabilities(), call.format()));
  }
  if (page->next_cursor) result["nextCursor"] = *page->next_cursor;
  return result;
}

Server::Answer task_result(const Server& server, Call& call) {
  auto found = named_task(server, call);
  if (auto* error = std::get_if<RpcError>(&found)) return std::move(*error);
  const auto& task = std::get<Task>(found);
  if (task.is_terminal()) return result_of(server, call, task);
  // There is no other way for this client to answer: waiting on would be for ever.
  if (task.status == TaskStatus::kInputRequired && !ask_for_task(server, call, task)) {
    return RpcError{kInvalidRequest, "the task wants input that the client did not give", nullptr,
                    nullptr};
  }
  call.await_task(task.id);
  return json::object();
}

}  // namespace mcp
