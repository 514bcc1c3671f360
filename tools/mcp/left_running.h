// A run's record names the processes that it has left running. Whoever reads it later is to be told
// only of those that still are.
#pragma once

#include <string>

#include "sessions/run_state.h"
#include "tools/tools.h"

namespace tools {

// Takes ended processes out of what `state` says of its run. Starts no box: where there is none,
// nothing lives.
void drop_ended(const Services& services, const std::string& principal_id,
                sessions::RunState& state);

}  // namespace tools
