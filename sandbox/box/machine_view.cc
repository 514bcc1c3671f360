#include "sandbox/box/machine_view.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <string_view>

#include "base/fd.h"
#include "base/random_id.h"

namespace sandbox::box {
namespace {

using wire::PlanOp;

constexpr std::int64_t kPeriodUs = 100'000;
constexpr std::size_t kCpuinfoBytesMax = 4 << 20;
constexpr std::size_t kShownBytesMax = 64 * 1024;  // the most that a plan takes

std::int64_t host_memory_bytes() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return 0;
  return static_cast<std::int64_t>(info.totalram) * info.mem_unit;
}

// A file of our own in place of one of the kernel's.
void show(PlanWriter& plan, const std::string& name, const std::string& target,
          const std::string& content) {
  const std::string file = "/run/hutch/" + name;
  plan.add(PlanOp::kFile, {file, content});
  plan.add(PlanOp::kShow, {file, target});
}

// Version 4 of RFC 9562, as the kernel prints its own.
std::string random_uuid() {
  std::string text = base::random_id("");
  text[12] = '4';
  text[16] = "89ab"[text[16] & 3];
  for (const std::size_t place : {20U, 16U, 12U, 8U}) text.insert(place, "-");
  return text;
}

void add_directories(PlanWriter& plan, std::initializer_list<const char*> paths) {
  for (const char* path : paths) plan.add(PlanOp::kDirectory, {path, "0755"});
}

// Where the C library counts processors.
void add_online(PlanWriter& plan, std::int64_t count) {
  add_directories(plan, {"/sys", "/sys/devices", "/sys/devices/system", "/sys/devices/system/cpu"});
  const std::string range = count == 1 ? "0\n" : "0-" + std::to_string(count - 1) + "\n";
  for (const char* name : {"online", "possible", "present"}) {
    plan.add(PlanOp::kFile, {std::string("/sys/devices/system/cpu/") + name, range});
  }
}

// Both versions: which one a program looks for is said by /proc/self/cgroup, the host's.
void add_cgroup_files(PlanWriter& plan, std::int64_t memory_bytes, std::int64_t cpus) {
  add_directories(plan,
                  {"/sys/fs", "/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpu"});
  const std::string memory = std::to_string(memory_bytes) + "\n";
  const std::string quota = std::to_string(cpus * kPeriodUs);
  const std::string period = std::to_string(kPeriodUs) + "\n";
  const auto add = [&plan](const char* name, const std::string& content) {
    plan.add(PlanOp::kFile, {std::string("/sys/fs/cgroup/") + name, content});
  };
  add("memory.max", memory);
  add("cpu.max", quota + " " + period);
  add("memory/memory.limit_in_bytes", memory);
  add("cpu/cpu.cfs_quota_us", quota + "\n");
  add("cpu/cpu.cfs_period_us", period);
}

}  // namespace

std::string first_processors(const std::string& host, std::int64_t count) {
  std::size_t end = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t blank = host.find("\n\n", end);
    if (blank == std::string::npos) return host;
    end = blank + 2;
  }
  return host.substr(0, end);
}

std::int64_t memory_of_session(const Limits& limits) {
  const std::int64_t host = host_memory_bytes();
  const std::int64_t asked = limits.memory_mb << 20;
  return host > 0 ? std::min(host, asked) : asked;
}

std::string meminfo_of(std::int64_t total_bytes, std::int64_t used_bytes,
                       std::int64_t cache_bytes) {
  const std::int64_t used = std::clamp<std::int64_t>(used_bytes, 0, total_bytes);
  const std::int64_t cache = std::clamp<std::int64_t>(cache_bytes, 0, used);
  std::string text;
  const auto add = [&text](std::string_view name, std::int64_t bytes) {
    constexpr std::size_t kNameWidth = 16;
    constexpr std::size_t kNumberWidth = 12;
    const std::string number = std::to_string(bytes / 1024);
    text.append(name).append(":").append(kNameWidth - name.size(), ' ');
    text.append(kNumberWidth - number.size(), ' ').append(number).append(" kB\n");
  };
  add("MemTotal", total_bytes);
  add("MemFree", total_bytes - used);
  add("MemAvailable", total_bytes - used + cache);
  add("Buffers", 0);
  add("Cached", cache);
  for (const char* name : {"SwapCached", "Active", "Inactive", "SwapTotal", "SwapFree", "Shmem",
                           "Slab", "SReclaimable", "SUnreclaim"}) {
    add(name, 0);
  }
  return text;
}

void add_machine_view(PlanWriter& plan, const Limits& limits) {
  const std::int64_t memory = memory_of_session(limits);
  cpu_set_t allowed;
  const int of_host =
      ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
  const std::int64_t cpus =
      of_host > 0 ? std::min<std::int64_t>(of_host, limits.cpus) : limits.cpus;
  show(plan, "meminfo", "/proc/meminfo", meminfo_of(memory, 0, 0));
  show(plan, "boot_id", "/proc/sys/kernel/random/boot_id", random_uuid() + "\n");
  add_online(plan, cpus);
  add_cgroup_files(plan, memory, cpus);
  const auto file = base::open_file(AT_FDCWD, "/proc/cpuinfo", O_RDONLY);
  if (!file.ok()) return;  // then there is nothing to be shorter
  const auto text = base::read_all(file.value().get(), kCpuinfoBytesMax);
  if (!text.ok()) return;
  std::string shown = first_processors(text.value(), cpus);
  if (shown.size() > kShownBytesMax) shown.resize(shown.rfind("\n\n", kShownBytesMax) + 2);
  show(plan, "cpuinfo", "/proc/cpuinfo", shown);
}

}  // namespace sandbox::box
