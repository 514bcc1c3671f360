// Tasks in the words of 2025-11-25, and of the extension of 2026-07-28.
#pragma once

#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "mcp/tasks.h"
#include "mcp/wire/revision.h"

namespace mcp::wire {

// Returns the answer to a tools/call that became a task.
nlohmann::json shape_created_task(const Task& task, const Format& format);

// Returns the task as tasks/get, tasks/list and tasks/cancel tell it. The status of a task of
// 2025-11-25 is failed when its result is an error: `outcome` decides that.
nlohmann::json shape_task(const Task& task, const std::optional<TaskOutcome>& outcome,
                          const Format& format);

// Returns the task as the extension tells it, with what it has come to or wants to know.
// `input_requests` holds those that the client may be asked.
nlohmann::json shape_detailed_task(const Task& task, std::optional<TaskOutcome> outcome,
                                   const nlohmann::json& input_requests, const Format& format);

}  // namespace mcp::wire
