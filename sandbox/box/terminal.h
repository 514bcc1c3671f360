// A terminal of the box for one run: pts(4), ioctl_tty(2).
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/run.h"

namespace sandbox::box {

struct Terminal {
  base::UniqueFd master;  // ours; not blocking
  base::UniqueFd slave;   // the three standard streams of the process
};

// Opens a terminal of the box's own, so that its programs find it by its name. `owner`: whose it
// is; nothing: ours. kLimit when the code has taken them all.
base::Result<Terminal> open_terminal(int root_fd, TerminalSize size, std::optional<uid_t> owner);

}  // namespace sandbox::box
