#include "mcp/wire/task_shape.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "mcp/wire/shape.h"

namespace mcp::wire {

using nlohmann::json;

namespace {

const char* name_of(TaskStatus status) {
  switch (status) {
    case TaskStatus::kWorking:
      return "working";
    case TaskStatus::kInputRequired:
      return "input_required";
    case TaskStatus::kCompleted:
      return "completed";
    case TaskStatus::kFailed:
      return "failed";
    case TaskStatus::kCancelled:
      return "cancelled";
  }
  return "working";
}

json error_object(const RpcError& error) {
  json object = {{"code", error.code}, {"message", error.message}};
  if (!error.data->is_null()) object["data"] = error.data;
  return object;
}

}  // namespace

json shape_task(const Task& task, const std::optional<TaskOutcome>& outcome, const Format& format) {
  const auto* result = outcome ? std::get_if<ToolResult>(&*outcome) : nullptr;
  const bool failed = !format.modern && result != nullptr && result->is_error &&
                      task.status == TaskStatus::kCompleted;
  json shaped = {{"taskId", task.id},
                 {"status", name_of(failed ? TaskStatus::kFailed : task.status)},
                 {"createdAt", task.created_at},
                 {"lastUpdatedAt", task.updated_at}};
  if (!task.message.empty()) shaped["statusMessage"] = task.message;
  shaped[format.modern ? "ttlMs" : "ttl"] = task.ttl_ms ? json(*task.ttl_ms) : json(nullptr);
  if (task.poll_ms) shaped[format.modern ? "pollIntervalMs" : "pollInterval"] = *task.poll_ms;
  return shaped;
}

json shape_created_task(const Task& task, const Format& format) {
  json shaped = shape_task(task, std::nullopt, format);
  if (!format.modern) {
    json result;
    result["task"] = std::move(shaped);
    return result;
  }
  shaped["resultType"] = "task";
  return shaped;
}

json shape_detailed_task(const Task& task, std::optional<TaskOutcome> outcome,
                         const json& input_requests, const Format& format) {
  json shaped = shape_task(task, outcome, format);
  if (task.status == TaskStatus::kInputRequired) shaped["inputRequests"] = input_requests;
  if (!outcome) return shaped;
  if (task.status == TaskStatus::kFailed) {
    if (const auto* error = std::get_if<RpcError>(&*outcome))
      shaped["error"] = error_object(*error);
  }
  if (task.status == TaskStatus::kCompleted) {
    if (auto* result = std::get_if<ToolResult>(&*outcome)) {
      shaped["result"] = shape_tool_result(std::move(*result), format);
      shaped["result"]["resultType"] = "complete";
    }
  }
  return shaped;
}

}  // namespace mcp::wire
