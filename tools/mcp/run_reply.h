// A run as the answer of a tool.
#pragma once

#include <cstdint>
#include <optional>

#include "mcp/tasks.h"
#include "sessions/run_files.h"
#include "sessions/run_state.h"
#include "tools/mcp/run_text.h"
#include "tools/mcp/run_view.h"
#include "tools/mcp/tool_kit.h"

namespace tools {

// Shows a run, with its figures once it has ended, and with advice that holds here. Offsets are as
// in RunView.
Reply reply_of_run(const Services& services, const sessions::RunState& state,
                   SessionName session_name = SessionName::kShown,
                   std::optional<std::int64_t> stdout_offset = std::nullopt,
                   std::optional<std::int64_t> stderr_offset = std::nullopt);

// The last line a run has printed to stdout; its status when there is none, with what it waits for.
std::string newest_line(const sessions::RunFiles& files, const sessions::RunState& state);

// Returns the run as a task of the same id.
mcp::Task task_of_run(const sessions::RunState& state);

}  // namespace tools
