#include "sandbox/box/socket_memory.h"

#include <cstdlib>
#include <fstream>
#include <limits>
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

// What `bytes_of` finds in the lines of a table, the titles left out.
std::int64_t sum_of_lines(const std::string& path, std::int64_t (*bytes_of)(std::istringstream&)) {
  std::ifstream lines(path);
  std::string line;
  std::getline(lines, line);
  std::int64_t bytes = 0;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    bytes += bytes_of(fields);
  }
  return bytes;
}

std::int64_t queued_in(std::istringstream& fields) {
  std::string line;
  std::getline(fields, line);
  return queued_bytes(line);
}

// "sk Eth Pid Groups Rmem Wmem …"
std::int64_t netlink_bytes(std::istringstream& fields) {
  std::string skipped;
  for (int field = 0; field < 4; ++field) fields >> skipped;
  std::int64_t received = 0;
  std::int64_t sent = 0;
  return fields >> received >> sent ? received + sent : 0;
}

}  // namespace

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

std::int64_t socket_memory_bytes(pid_t pid) {
  const std::string net = "/proc/" + std::to_string(pid) + "/net/";
  std::int64_t bytes = sum_of_lines(net + "netlink", netlink_bytes);
  const auto add = [&](const char* sockstat, const char* kind, const char* table) {
    if (sockets_in_use(net, sockstat, kind) <= kFewSockets) return;
    bytes += sum_of_lines(net + table, queued_in);
  };
  add("sockstat", "UDP", "udp");
  add("sockstat6", "UDP6", "udp6");
  add("sockstat", "TCP", "tcp");
  add("sockstat6", "TCP6", "tcp6");
  return bytes;
}

}  // namespace sandbox::box
