#include "sandbox/host_limits.h"

#include <algorithm>
#include <cstdlib>

#include "base/fd.h"

namespace sandbox {

std::int64_t most_processes(const std::string& pid_max, const LimitRow& row) {
  constexpr std::int64_t kShare = 4;
  const std::int64_t numbers = std::strtoll(pid_max.c_str(), nullptr, 10);
  // Where it cannot be read, nothing is known of the host.
  if (numbers <= 0) return row.most;
  return std::clamp(numbers / kShare, row.least, row.most);
}

std::int64_t most_of_host(const LimitRow& row) {
  if (row.member != &Limits::processes) return row.most;
  return most_processes(base::text_of_file("/proc/sys/kernel/pid_max"), row);
}

}  // namespace sandbox
