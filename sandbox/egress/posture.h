// What hutch-egress may still ask of the kernel.
#pragma once

#include "sandbox/base/result.h"

namespace sandbox::egress {

// The calls of a box, without those that make processes or look at others. For a process that has
// one thread and no_new_privs; those that it starts have the same. seccomp(2).
base::Status restrict_calls();

}  // namespace sandbox::egress
