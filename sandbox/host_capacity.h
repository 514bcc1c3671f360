// When a box cannot be started because the machine is at a limit of its own: of processes, open
// files, memory, namespaces or BPF programs, which others on it may hold. That passes, so it is
// tried again for a moment, and whoever asks is told when to come back.
#pragma once

#include <chrono>
#include <optional>

#include "base/result.h"

namespace sandbox {

// A caller is told to wait this long, see describe_capacity().
inline constexpr std::chrono::seconds kCapacityRetryAfter{5};

// Returns whether the errno of a step that starts a box means a limit of the machine. That of a
// full disk does not.
bool is_host_limit(int os_errno);

// Returns the failure of a start, of kind kCapacity where is_host_limit() says so; any other as it
// is.
base::Error as_capacity(base::Error failure);

// Returns whether the child that this pidfd is of was ended by SIGKILL, which is how the kernel
// makes room in memory; reaps nothing. Nothing: it has not ended, or nobody can know, since SIGCHLD
// is ignored here and the kernel is older than Linux 6.15.
std::optional<bool> was_killed(int pidfd);

// Returns an Error that tells the caller what has happened, and when to try again.
base::Error describe_capacity(const base::Error& failure);

// Returns the failure of a start as describe_capacity() tells it, where is_host_limit() says so;
// any other, and one that tells so already, as it is.
base::Error with_capacity_described(base::Error failure);

}  // namespace sandbox
