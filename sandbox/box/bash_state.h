// What bash keeps from run to run is in two files of the box, of which it writes the older one as
// its last act (runners/bash/state.sh).
#pragma once

#include <cstdint>

namespace sandbox::box {

// Greater than before whenever bash has kept its state since; 0 where there is none. `root_fd` is
// the root of the box. Code in the box can make it anything.
std::int64_t bash_state_number(int root_fd);

}  // namespace sandbox::box
