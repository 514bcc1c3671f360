#include "sandbox/box/process_memory.h"

#include <fstream>
#include <string>

namespace sandbox::box {
namespace {

constexpr std::int64_t kKilobyte = 1024;

// Reads "Name:   n kB" lines.
ProcessMemory read(const std::string& path, const char* anonymous, const char* shared) {
  ProcessMemory memory;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = line.substr(0, colon);
    if (name != anonymous && name != shared) continue;
    const std::int64_t bytes = std::strtoll(line.c_str() + colon + 1, nullptr, 10) * kKilobyte;
    (name == anonymous ? memory.anonymous_bytes : memory.shared_bytes) = bytes;
  }
  return memory;
}

}  // namespace

ProcessMemory resident_memory(pid_t pid) {
  return read("/proc/" + std::to_string(pid) + "/status", "RssAnon", "RssShmem");
}

ProcessMemory proportional_memory(pid_t pid) {
  return read("/proc/" + std::to_string(pid) + "/smaps_rollup", "Pss_Anon", "Pss_Shmem");
}

}  // namespace sandbox::box
