// Measures what the kernel holds in the buffers of a box's sockets. No process is charged for it
// nor, for most kinds, a memory cgroup. proc_pid_net(5)
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/work_budget.h"

namespace sandbox::box {

// At most this much may wait in the sockets of a session.
struct SocketBounds {
  std::int64_t bytes = 0;      // all kinds together: a quarter of its memory
  std::int64_t tcp_bytes = 0;  // an eighth of what the kernel gives all of the host's TCP
  std::int64_t udp_bytes = 0;  // an eighth of what the kernel gives all of the host's UDP
  std::int64_t one_bytes = 0;  // no socket of those two has more in both of its queues; tcp(7)
};

// `numbers` is where the kernel has its numbers.
SocketBounds read_socket_bounds(std::int64_t memory_bytes,
                                const std::string& numbers = "/proc/sys/net");

// Returns in bytes the third number of /proc/sys/net/ipv4/tcp_mem or udp_mem, which are pages; see
// tcp(7). Returns 0 when there is none.
std::int64_t bytes_of_protocol(const std::string& numbers, std::int64_t page_bytes);

enum class SocketMemory {
  kWithin,
  kBeyondMemory,  // more than the session's memory may hold
  kBeyondHost,    // its share of the host's
};

// Returns why a run is ended for it, in words for whoever made it.
const char* reason_of(SocketMemory beyond);

// Measures what waits in the TCP, UDP and netlink sockets of the network namespace that `pid` is
// in, as far as the kernel tells: it may hold somewhat more. Returns kWithin when the process has
// ended. The tables of TCP and UDP, which are as long as code likes and for which the kernel looks
// through all sockets of the host, are read when the whole host, and so many sockets as are there,
// may have more than the session may; sockets that are too many for the budget, a step each, are
// beyond.
SocketMemory measure_sockets(pid_t pid, const SocketBounds& bounds, base::WorkBudget& budget);

// Returns the bytes in both queues of a line of /proc/<pid>/net/tcp or udp: "sl local rem st
// tx_queue:rx_queue …". The kernel takes the difference of two numbers of TCP without a lock, so
// that one which moves may be less than nothing, which is nothing here.
std::int64_t queued_bytes(const std::string& line);

// Returns how many sockets /proc/<pid>/net/sockstat or sockstat6 tells of this kind, in that
// network namespace alone: "TCP: inuse 3 …".
std::int64_t sockets_in_use(const std::string& sockstat, const std::string& kind);

// Returns the pages of memory that /proc/<pid>/net/sockstat tells for this kind of socket, on all
// of the host: "TCP: … mem 428".
std::int64_t pages_in_use(const std::string& sockstat, const std::string& kind);

}  // namespace sandbox::box
