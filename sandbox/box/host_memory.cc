#include "sandbox/box/host_memory.h"

#include <algorithm>

#include "base/text.h"
#include "sandbox/cgroup_directory.h"

namespace sandbox::box {
namespace {

constexpr std::int64_t kLittlePart = 10;
constexpr std::int64_t kScarcePart = 20;

// Returns the kilobytes of a line "name:  N kB", or 0.
std::int64_t kilobytes_of(std::string_view meminfo, std::string_view name) {
  for (const std::string_view line : base::split(meminfo, '\n')) {
    if (!line.starts_with(name)) continue;
    const auto words = base::words_of(line.substr(name.size()));
    return words.empty() ? 0 : base::number_of<std::int64_t>(words[0]).value_or(0);
  }
  return 0;
}

}  // namespace

MemoryLeft memory_left(std::int64_t free_bytes, std::int64_t all_bytes) {
  if (free_bytes < all_bytes / kScarcePart) return MemoryLeft::kScarce;
  return free_bytes < all_bytes / kLittlePart ? MemoryLeft::kLittle : MemoryLeft::kEnough;
}

MemoryLeft memory_left_by(std::string_view meminfo) {
  return memory_left(kilobytes_of(meminfo, "MemAvailable:") << 10,
                     kilobytes_of(meminfo, "MemTotal:") << 10);
}

MemoryLeft memory_left_in(const std::string& cgroup_directory) {
  const std::int64_t all = read_cgroup_number(cgroup_directory + "/memory.max", "");
  std::int64_t used = read_cgroup_number(cgroup_directory + "/memory.current", "");
  // The kernel takes these back before it ends anybody.
  for (const char* name : {"inactive_file", "active_file", "slab_reclaimable"}) {
    used -= read_cgroup_number(cgroup_directory + "/memory.stat", name);
  }
  return all > 0 ? memory_left(all - used, all) : MemoryLeft::kEnough;
}

HostMemory::HostMemory() {
  for (const CgroupHierarchy& hierarchy : find_cgroup_hierarchies()) {
    if (hierarchy.version != 2) continue;
    for (std::string directory = hierarchy.own_directory; directory.size() >= hierarchy.top.size();
         directory.resize(directory.rfind('/'))) {
      const auto words = read_cgroup_words(directory + "/memory.max");
      if (!words.empty() && words[0] != "max") limited_.push_back(directory);
      if (directory.size() == hierarchy.top.size()) break;
    }
  }
}

MemoryLeft HostMemory::left() const {
  MemoryLeft least = memory_left_by(read_cgroup_file("/proc/meminfo").value_or(""));
  for (const std::string& directory : limited_) {
    least = std::max(least, memory_left_in(directory));
  }
  return least;
}

}  // namespace sandbox::box
