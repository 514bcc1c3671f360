// A run that a tool starts: followed as long as a call may take, then handed over.
#pragma once

#include <chrono>

#include "base/result.h"
#include "sandbox/run.h"
#include "tools/mcp/call_session.h"
#include "tools/mcp/tool_kit.h"

namespace tools {

// It is below the 60 seconds after which most clients give a call up, and counts from when the call
// came: it may have waited for a thread, for the sandbox to start, and in its language's queue.
inline constexpr std::chrono::milliseconds kHandOverAfter{50'000};

// Starts a run in the session and returns it once it has ended or is handed over, or as a task.
// Fails where the run cannot be started, and as sessions::follow() does.
base::Result<Reply> reply_of_new_run(const Services& services, const CallSession& found,
                                     sandbox::RunRequest request, mcp::CallContext& context);

}  // namespace tools
