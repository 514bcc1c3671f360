// What the kernel holds in the buffers of a box's sockets, which neither a process nor, of most
// kinds, a memory cgroup is charged for. proc_pid_net(5)
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace sandbox::box {

// Bytes waiting in the TCP, UDP and netlink sockets of the network namespace that `pid` is in, as
// far as the kernel tells: it may hold somewhat more. 0 when the process has ended. Few sockets of
// a kind are not asked: they cannot hold much, and the host's tables take milliseconds to read.
std::int64_t socket_memory_bytes(pid_t pid);

}  // namespace sandbox::box
