// What the kernel holds in the buffers of a box's sockets, which neither a process nor, of most
// kinds, a memory cgroup is charged for. proc_pid_net(5)
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace sandbox::box {

// Bytes waiting in the TCP, UDP and netlink sockets of the network namespace that `pid` is in, as
// far as the kernel tells: it may hold somewhat more. 0 when the process has ended. Few sockets of
// a kind are not asked: they cannot hold much, and the host's tables take milliseconds to read.
std::int64_t socket_memory_bytes(pid_t pid);

// Both queues of a line of /proc/<pid>/net/tcp or udp: "sl local rem st tx_queue:rx_queue …". The
// kernel takes the difference of two numbers of TCP without a lock, so that one which moves may be
// less than nothing, which is nothing here.
std::int64_t queued_bytes(const std::string& line);

}  // namespace sandbox::box
