// A run as the database tells of it: the columns of its row, and its record as JSON.
#pragma once

#include <string>

#include "sandbox/run.h"
#include "sessions/store.h"

namespace sessions {

// What the row alone says.
sandbox::Run run_of(const RunHead& row);

// Of the record of a run in a deleted session what an audit needs: how and when it ended. Nothing
// that its code has said or that anybody has called something.
std::string erased_record(const Run& row);

}  // namespace sessions
