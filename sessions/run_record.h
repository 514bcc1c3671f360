// A run as the database tells of it.
#pragma once

#include "sandbox/run.h"
#include "sessions/run_table.h"

namespace sessions {

// Returns a run as its row alone tells it.
sandbox::Run run_of(const Run& row);

// Returns what an audit needs of the end of a run in a deleted session: how and when it ended,
// nothing that its code has said or that anybody has called something.
sandbox::Run erased_run(const Run& row, const sandbox::Run& end);

}  // namespace sessions
