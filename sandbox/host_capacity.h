// When a box cannot be started because the machine is at a limit of its own: of processes, open
// files, memory, namespaces or BPF programs, which others on it may hold. That passes, so it is
// tried again for a moment, and whoever asks is told when to come back.
#pragma once

#include <chrono>

#include "sandbox/base/result.h"

namespace sandbox {

// What a caller is told to wait, see describe_capacity().
inline constexpr std::chrono::seconds kCapacityRetryAfter{5};

// Whether a step that starts a box failed with such an errno; the failures of a full disk are none.
bool is_host_limit(int os_errno);

// The failure of a start, as kCapacity where it was one of those; any other as it is.
base::Error as_capacity(base::Error failure);

// For the caller: what has happened, and when to try again.
base::Error describe_capacity(const base::Error& failure);

}  // namespace sandbox
