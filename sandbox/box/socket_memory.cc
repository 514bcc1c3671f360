#include "sandbox/box/socket_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/fd.h"

namespace sandbox::box {
namespace {

constexpr std::int64_t kMemoryShare = 4;
// A session has this part of what the host has, so that some sessions together do not come to its
// end.
constexpr std::int64_t kHostShare = 8;
// Each processor of the host keeps some of what its sockets have taken or given back to itself.
constexpr std::int64_t kGatheredLate = 2;

std::int64_t page_bytes() { return ::sysconf(_SC_PAGESIZE); }

// Returns the bytes that the sockets of a protocol may have on the host. Where `numbers` does not
// tell, it is the part of memory that the kernel shares out at its start: 3/32 for TCP, twice that
// for UDP.
std::int64_t host_bytes(const std::string& numbers, std::int64_t usual_parts) {
  constexpr std::int64_t kParts = 32;
  const std::int64_t told = bytes_of_protocol(base::text_of_file(numbers), page_bytes());
  if (told > 0) return told;  // it is not shown in a network namespace of one's own
  return ::sysconf(_SC_PHYS_PAGES) / kParts * usual_parts * page_bytes();
}

// Adds what `bytes_of` finds in the lines of a table, the titles left out, until it is beyond
// `bytes_max`.
void add_lines(const std::string& path, std::int64_t (*bytes_of)(const std::string&),
               std::int64_t bytes_max, base::WorkBudget& budget, std::int64_t& bytes) {
  std::ifstream lines(path);
  std::string line;
  std::getline(lines, line);
  while (bytes <= bytes_max && std::getline(lines, line) && budget.take()) bytes += bytes_of(line);
}

// "sk Eth Pid Groups Rmem Wmem …"
std::int64_t netlink_bytes(const std::string& line) {
  std::istringstream fields(line);
  std::string skipped;
  for (int field = 0; field < 4; ++field) fields >> skipped;
  std::int64_t received = 0;
  std::int64_t sent = 0;
  return fields >> received >> sent ? received + sent : 0;
}

// TCP or UDP, each in both families (IPv4 and IPv6), which share their memory.
struct Protocol {
  std::string table;  // path of the one of IPv4
  std::int64_t sockets;
  std::int64_t sockets6;
  std::int64_t bytes_at_most;

  Protocol(std::string table_path, const std::string& kind, const std::string& sockstat,
           const std::string& sockstat6, std::int64_t one_bytes)
      : table(std::move(table_path)),
        sockets(sockets_in_use(sockstat, kind)),
        sockets6(sockets_in_use(sockstat6, kind + "6")),
        bytes_at_most(std::min(pages_in_use(sockstat, kind) * page_bytes() * kGatheredLate,
                               (sockets + sockets6) * one_bytes)) {}

  [[nodiscard]] std::int64_t read_tables(std::int64_t bytes_max, base::WorkBudget& budget) const {
    std::int64_t bytes = 0;
    if (sockets > 0) add_lines(table, queued_bytes, bytes_max, budget, bytes);
    if (sockets6 > 0) add_lines(table + "6", queued_bytes, bytes_max, budget, bytes);
    return bytes;
  }
};

// Returns the most that a socket of a box may be given to receive or to send: by itself up to the
// third number of `automatic`, by setsockopt(2) up to twice the one of `asked`. A new namespace has
// the numbers of the host, which may be larger than those of a container that this runs in; where
// they are not told, there is no most.
std::int64_t buffer_bytes(const std::string& automatic, const std::string& asked) {
  constexpr std::int64_t kUsual = 32LL << 20;  // more than distributions have
  constexpr std::int64_t kNoMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t by_itself = bytes_of_protocol(base::text_of_file(automatic), 1);
  const std::int64_t by_request = std::strtoll(base::text_of_file(asked).c_str(), nullptr, 10);
  if (by_itself <= 0 || by_request <= 0) return kNoMost;
  return std::max({by_itself, 2 * by_request, kUsual});
}

std::int64_t number_after(const std::string& text, const std::string& kind, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kind + ": ")) continue;
    const auto at = line.find(name);
    if (at == std::string::npos) return 0;
    return std::strtoll(line.c_str() + at + name.size(), nullptr, 10);
  }
  return 0;
}

}  // namespace

std::int64_t bytes_of_protocol(const std::string& numbers, std::int64_t page_bytes) {
  std::istringstream fields(numbers);
  std::int64_t least = 0;
  std::int64_t pressure = 0;
  std::int64_t most = 0;
  if (!(fields >> least >> pressure >> most) || most <= 0) return 0;
  return std::min(most, std::numeric_limits<std::int64_t>::max() / page_bytes) * page_bytes;
}

SocketBounds read_socket_bounds(std::int64_t memory_bytes, const std::string& numbers) {
  return {memory_bytes / kMemoryShare, host_bytes(numbers + "/ipv4/tcp_mem", 3) / kHostShare,
          host_bytes(numbers + "/ipv4/udp_mem", 6) / kHostShare,
          buffer_bytes(numbers + "/ipv4/tcp_rmem", numbers + "/core/rmem_max") +
              buffer_bytes(numbers + "/ipv4/tcp_wmem", numbers + "/core/wmem_max")};
}

std::int64_t sockets_in_use(const std::string& sockstat, const std::string& kind) {
  return number_after(sockstat, kind, " inuse ");
}

std::int64_t pages_in_use(const std::string& sockstat, const std::string& kind) {
  return number_after(sockstat, kind, " mem ");
}

std::int64_t queued_bytes(const std::string& line) {
  std::istringstream fields(line);
  std::string queues;
  for (int field = 0; field < 5; ++field) fields >> queues;
  const auto colon = queues.find(':');
  if (colon == std::string::npos) return 0;
  const auto bytes_of = [](const char* text) {
    const std::int64_t bytes = std::strtoll(text, nullptr, 16);
    return bytes > std::numeric_limits<std::int32_t>::max() ? 0 : bytes;
  };
  return bytes_of(queues.c_str()) + bytes_of(queues.c_str() + colon + 1);
}

const char* reason_of(SocketMemory beyond) {
  if (beyond == SocketMemory::kBeyondHost) {
    return "more was sent through its TCP or UDP sockets and not read than an eighth of what the "
           "kernel gives those of the whole host";
  }
  return "more was sent through its sockets and not read than a quarter of memory_mb";
}

SocketMemory measure_sockets(pid_t pid, const SocketBounds& bounds, base::WorkBudget& budget) {
  const std::string net = "/proc/" + std::to_string(pid) + "/net/";
  std::int64_t all = 0;
  add_lines(net + "netlink", netlink_bytes, bounds.bytes, budget, all);
  const std::string sockstat = base::text_of_file(net + "sockstat");
  const std::string sockstat6 = base::text_of_file(net + "sockstat6");
  const Protocol tcp_sockets(net + "tcp", "TCP", sockstat, sockstat6, bounds.one_bytes);
  const Protocol udp_sockets(net + "udp", "UDP", sockstat, sockstat6, bounds.one_bytes);
  const bool may_be_beyond =
      tcp_sockets.bytes_at_most > bounds.tcp_bytes ||
      udp_sockets.bytes_at_most > bounds.udp_bytes ||
      all + tcp_sockets.bytes_at_most + udp_sockets.bytes_at_most > bounds.bytes;
  if (may_be_beyond) {
    const std::int64_t most = bounds.bytes;
    const std::int64_t tcp = tcp_sockets.read_tables(most, budget);
    const std::int64_t udp = udp_sockets.read_tables(most, budget);
    all += tcp + udp;
    if (all <= most && (tcp > bounds.tcp_bytes || udp > bounds.udp_bytes)) {
      return SocketMemory::kBeyondHost;
    }
  }
  return all > bounds.bytes || budget.spent() ? SocketMemory::kBeyondMemory : SocketMemory::kWithin;
}

}  // namespace sandbox::box
