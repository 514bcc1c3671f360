// The directory of a session in which stored state lies, beside its files.
#pragma once

#include "base/fd.h"
#include "base/result.h"

namespace sandbox::box {

// Makes it where it is not there. `session_fd` is the session's directory.
base::Result<base::UniqueFd> open_state_directory(int session_fd);

// Says on the disk that the box has ended since all that the session knows is stored; or that it
// has one again. Returns what was said before. `directory_fd` is that of the state.
bool set_rests(int directory_fd, bool rests);

}  // namespace sandbox::box
