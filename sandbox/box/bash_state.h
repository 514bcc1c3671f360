// What bash keeps from run to run is a file in the box, which it replaces as its last act
// (runners/bash/state.sh).
#pragma once

#include <string>

namespace sandbox::box {

// Differs from what it was before whenever bash has kept its state since; empty where there is
// none. `root_fd` is the root of the box. Code in the box can make it differ.
std::string bash_state_version(int root_fd);

}  // namespace sandbox::box
