#include "sandbox/box/socket_memory.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace sandbox::box {
namespace {

constexpr std::int64_t kFewSockets = 16;

// Of /proc/<pid>/net/sockstat and sockstat6: "UDP: inuse 3 mem 2".
std::int64_t sockets_in_use(const std::string& net, const char* file, const std::string& kind) {
  std::ifstream lines(net + file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kind + ": inuse ")) continue;
    return std::strtoll(line.c_str() + kind.size() + sizeof ": inuse", nullptr, 10);
  }
  return 0;
}

// "sl local rem st tx_queue:rx_queue …", the queues as hexadecimal bytes.
std::int64_t queued_bytes(const std::string& path) {
  std::ifstream lines(path);
  std::string line;
  std::getline(lines, line);  // titles
  std::int64_t bytes = 0;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string queues;
    for (int field = 0; field < 5; ++field) fields >> queues;
    const auto colon = queues.find(':');
    if (colon == std::string::npos) continue;
    bytes += std::strtoll(queues.c_str(), nullptr, 16);
    bytes += std::strtoll(queues.c_str() + colon + 1, nullptr, 16);
  }
  return bytes;
}

// "sk Eth Pid Groups Rmem Wmem …"
std::int64_t netlink_bytes(const std::string& path) {
  std::ifstream lines(path);
  std::string line;
  std::getline(lines, line);  // titles
  std::int64_t bytes = 0;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string skipped;
    for (int field = 0; field < 4; ++field) fields >> skipped;
    std::int64_t received = 0;
    std::int64_t sent = 0;
    if (fields >> received >> sent) bytes += received + sent;
  }
  return bytes;
}

}  // namespace

std::int64_t socket_memory_bytes(pid_t pid) {
  const std::string net = "/proc/" + std::to_string(pid) + "/net/";
  std::int64_t bytes = netlink_bytes(net + "netlink");
  if (sockets_in_use(net, "sockstat", "UDP") > kFewSockets) bytes += queued_bytes(net + "udp");
  if (sockets_in_use(net, "sockstat6", "UDP6") > kFewSockets) bytes += queued_bytes(net + "udp6");
  if (sockets_in_use(net, "sockstat", "TCP") > kFewSockets) bytes += queued_bytes(net + "tcp");
  if (sockets_in_use(net, "sockstat6", "TCP6") > kFewSockets) bytes += queued_bytes(net + "tcp6");
  return bytes;
}

}  // namespace sandbox::box
