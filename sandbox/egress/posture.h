// Restricts what hutch-egress may still do.
#pragma once

#include "base/result.h"

namespace sandbox::egress {

// Allows only the system calls of a box, without those that make processes or look at others. For a
// process that has one thread and no_new_privs; threads that it starts have the same filters.
// seccomp(2).
base::Status restrict_calls();

// Allows only the files that it needs: those that names are resolved with can be read, and files in
// `writable_fd` (a directory; -1: none) written. It binds no port. Does nothing on a kernel without
// Landlock. For a process as restrict_calls() wants it. landlock(7).
base::Status restrict_files(int writable_fd);

}  // namespace sandbox::egress
