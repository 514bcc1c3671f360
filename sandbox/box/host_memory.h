// Tells how much memory the machine, or the container, has left for all that runs in it.
// proc_meminfo(5), and memory.max and memory.current of cgroups (kernel: admin-guide/cgroup-v2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::box {

enum class MemoryLeft {
  kEnough,
  kLittle,  // less than a tenth: who is idle stores what it knows, and gives its own back
  kScarce,  // less than a twentieth: who is paused gives its own back, whatever is lost
};

MemoryLeft memory_left(std::int64_t free_bytes, std::int64_t all_bytes);
// Returns what /proc/meminfo says; kEnough for what it cannot have said.
MemoryLeft memory_left_by(std::string_view meminfo);

// Returns what the files of a cgroup in this directory say; kEnough for one without a limit.
MemoryLeft memory_left_in(const std::string& cgroup_directory);

class HostMemory {
 public:
  // Finds the cgroups above this process that have a limit.
  HostMemory();
  // Looks anew: a read of a file for the machine, and five for each such cgroup.
  [[nodiscard]] MemoryLeft left() const;

 private:
  std::vector<std::string> limited_;  // directories of cgroups
};

}  // namespace sandbox::box
