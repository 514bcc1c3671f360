// Bash keeps its state from run to run in two files of the box, of which it writes the older one as
// its last act (runners/bash/state.sh).
#pragma once

#include <cstdint>

namespace sandbox::box {

// Returns a number that is greater than before whenever bash has kept its state since, or 0 where
// there is no state. `root_fd` is the root of the box. Code in the box can make the number
// anything.
std::int64_t bash_state_number(int root_fd);

}  // namespace sandbox::box
