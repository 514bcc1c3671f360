// Tasks: calls that outlive their request. Whoever keeps some implements TaskSource; both kinds of
// tasks, those of 2025-11-25 and the extension of 2026-07-28, are served from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/json_value.h"
#include "mcp/message.h"
#include "mcp/principal.h"
#include "mcp/tool_result.h"

namespace mcp {

inline constexpr const char* kTasksExtension = "io.modelcontextprotocol/tasks";

enum class TaskStatus { kWorking, kInputRequired, kCompleted, kFailed, kCancelled };

struct Task {
  std::string id;  // one that cannot be guessed, or that lets nobody in who knows it
  TaskStatus status = TaskStatus::kWorking;
  std::string message;     // on the status; empty: none
  std::string created_at;  // RFC 3339
  std::string updated_at;
  std::optional<std::int64_t> ttl_ms;  // nothing: kept without limit
  std::optional<std::int64_t> poll_ms;
  // Holds what a task that is kInputRequired asks: key to {method, params}. A key is never used
  // twice in one task.
  base::JsonValue input_requests = base::JsonValue::object();

  [[nodiscard]] bool is_terminal() const { return status >= TaskStatus::kCompleted; }
};

// Says what a task came to: a result, be it one with is_error, or a protocol error (kFailed).
using TaskOutcome = std::variant<ToolResult, RpcError>;

struct TaskPage {
  std::vector<Task> tasks;
  std::optional<std::string> next_cursor;
};

// It is called from many threads at once. A task of another principal is one that does not exist.
class TaskSource {
 public:
  virtual ~TaskSource() = default;

  virtual std::optional<Task> find(const Principal& principal, const std::string& id) = 0;
  // Returns what a task that has ended came to; nothing for one that has gone meanwhile.
  virtual std::optional<TaskOutcome> outcome(const Principal& principal, const std::string& id) = 0;
  // Returns when the task is kCancelled, or when that cannot be. False: this caller may not.
  virtual bool cancel(const Principal& principal, const std::string& id) = 0;
  // Answers to its input requests, by key; unknown keys are ignored.
  virtual void update(const Principal& principal, const std::string& id,
                      const nlohmann::json& input_responses) = 0;
  // `cursor` is empty for the first page; nothing for one that was never given.
  virtual std::optional<TaskPage> list(const Principal& principal, const std::string& cursor) = 0;

  // Somebody waits to be told of this task's changes through Server::changes(); nobody any more.
  virtual void watch(const std::string& /*principal_id*/, const std::string& /*id*/) {}
  virtual void unwatch(const std::string& /*principal_id*/, const std::string& /*id*/) {}
  // Returns soon, and where it can be, when nothing more of what is watched for them would be
  // missed.
  virtual void settle(const std::string& /*principal_id*/) {}
};

}  // namespace mcp
