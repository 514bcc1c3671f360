// These functions decide what a client gets to see of a task.
#pragma once

#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "mcp/message.h"
#include "mcp/principal.h"
#include "mcp/tasks.h"
#include "mcp/wire/revision.h"

namespace mcp {

// Returns the task as its revision tells it, with what it has come to where the revision puts it
// there.
nlohmann::json view_task(TaskSource& source, const Principal& principal, const Task& task,
                         const nlohmann::json& declared_capabilities, const wire::Format& format);

// Returns kMissingClientCapability for a modern client that did not declare the extension, else
// nothing.
std::optional<RpcError> refuse_tasks(const wire::Format& format,
                                     const nlohmann::json& declared_capabilities);

}  // namespace mcp
