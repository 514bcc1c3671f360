// Tells whether a process ends with the service that this one is: a service manager, or a
// container's end, takes whole cgroups. cgroups(7), systemd.kill(5).
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace sandbox {

// Returns whether the process is in this one's cgroup or in one below it. False where it has ended.
bool is_in_our_cgroup(pid_t pid);

// Does so by the contents of the two processes' /proc/PID/cgroup.
bool is_in_cgroup_of(std::string_view ours, std::string_view theirs);

}  // namespace sandbox
