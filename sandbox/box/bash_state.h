// Bash keeps its state from run to run in two files of the box, of which it writes the older one as
// its last act (runners/bash/state.sh).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sandbox::box {

// Returns a number that is greater than before whenever bash has kept its state since, or 0 where
// there is no state. `root_fd` is the root of the box. Code in the box can make the number
// anything.
std::int64_t bash_state_number(int root_fd);

// Returns what the newer of the two files holds that is whole, or "" where there is none or it has
// more than `bytes_max`. Hostile.
std::string newest_bash_state(int root_fd, std::size_t bytes_max);

// Returns the number of a state that is whole: its first line is "#" and the number, and so is its
// last. Returns 0 for others.
std::int64_t bash_state_number_of(const std::string& state);

// Returns what a state that is whole says: all but these two lines. "" for others.
std::string_view bash_state_body(const std::string& state);

}  // namespace sandbox::box
