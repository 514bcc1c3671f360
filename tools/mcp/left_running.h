// A run's note names the processes that it has left running. Whoever reads it later is to be told
// only of those that still are.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "sessions/run_state.h"
#include "tools/tools.h"

namespace tools {

// Returns the note without processes that do not live any more; without all that is said of them
// where none does.
std::string without_ended(const std::string& note, const std::function<bool(pid_t)>& lives);

// Takes ended processes out of the note of a run, if that names any. Starts no box: where there is
// none, nothing lives.
void drop_ended(const Services& services, const std::string& principal_id,
                sessions::RunState& state);

}  // namespace tools
