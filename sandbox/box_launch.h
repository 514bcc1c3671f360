// Starts a hutch-box, and tells why one does not start: what the machine has no room for now apart
// from what is wrong.
#pragma once

#include <chrono>

#include "base/result.h"
#include "sandbox/box_spec.h"
#include "sandbox/session_lock.h"

namespace sandbox {

// Returns once it says that it is ready; then the lock is its own, too. kCapacity: it has not said
// so within `patience`, or was ended for want of memory. One that fails does not live on.
base::Status launch_box(const BoxSpec& spec, const SessionLock& lock,
                        std::chrono::milliseconds patience);

}  // namespace sandbox
