// What hutch-egress may still do.
#pragma once

#include "sandbox/base/result.h"

namespace sandbox::egress {

// The calls of a box, without those that make processes or look at others. For a process that has
// one thread and no_new_privs; those that it starts have the same. seccomp(2).
base::Status restrict_calls();

// To what it needs: what names are resolved with can be read, and files in `writable_fd` (a
// directory; -1: none) written. It binds no port. Nothing on a kernel without Landlock. For a
// process as above. landlock(7).
base::Status restrict_files(int writable_fd);

}  // namespace sandbox::egress
