// A run as the database tells of it: the columns of its row, and its record as JSON.
#pragma once

#include <string>

#include "sandbox/run.h"
#include "sessions/run_table.h"

namespace sessions {

// Returns a run as its row alone tells it.
sandbox::Run run_of(const RunHead& row);

// Returns what an audit needs of the record of a run in a deleted session: how and when it
// ended, nothing that its code has said or that anybody has called something.
std::string erased_record(const Run& row);

}  // namespace sessions
