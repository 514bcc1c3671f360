#include "sandbox/box/process_memory.h"

#include <dirent.h>

#include <fstream>
#include <functional>
#include <memory>
#include <string>

namespace sandbox::box {
namespace {

constexpr std::int64_t kKilobyte = 1024;

// Calls with the name and the bytes of each line "Name:   n kB". False when there is none.
bool read_kilobytes(const std::string& path,
                    const std::function<void(const std::string&, std::int64_t)>& tell) {
  std::ifstream file(path);
  bool any = false;
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || !line.ends_with(" kB")) continue;
    any = true;
    tell(line.substr(0, colon), std::strtoll(line.c_str() + colon + 1, nullptr, 10) * kKilobyte);
  }
  return any;
}

constexpr const char* kPageTables = "VmPTE";

// Reads into `memory` what `path` tells; returns false when that is nothing. Memory that was moved
// to swap is still taken: code can have that done, see MADV_PAGEOUT in madvise(2).
bool read(const std::string& path, const char* anonymous, const char* swapped, const char* shared,
          ProcessMemory& memory) {
  memory = {};
  return read_kilobytes(path, [&](const std::string& name, std::int64_t bytes) {
    if (name == anonymous || name == swapped || name == kPageTables) {
      memory.anonymous_bytes += bytes;
    }
    if (name == shared) memory.shared_bytes = bytes;
  });
}

// Only the status of a process tells.
std::int64_t page_table_bytes(const std::string& directory) {
  std::int64_t bytes = 0;
  (void)read_kilobytes(directory + "/status", [&](const std::string& name, std::int64_t value) {
    if (name == kPageTables) bytes = value;
  });
  return bytes;
}

// The directories of a process and then of its threads: one whose first thread has ended goes on,
// and tells of its memory only by the others.
bool with_threads(pid_t pid, const std::function<bool(const std::string&)>& read_in) {
  const std::string process = "/proc/" + std::to_string(pid);
  if (read_in(process)) return true;
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(::opendir((process + "/task").c_str()),
                                                  &::closedir);
  if (!tasks) return false;
  while (const dirent* entry = ::readdir(tasks.get())) {  // NOLINT: one thread
    if (entry->d_name[0] != '.' && read_in(process + "/task/" + entry->d_name)) return true;
  }
  return false;
}

// Memory that is shared and has no file that could be found open or on a file system.
std::int64_t nameless_shared_bytes(const std::string& path) {
  std::ifstream file(path);
  std::int64_t bytes = 0;
  bool nameless = false;
  for (std::string line; std::getline(file, line);) {
    const bool is_mapping = line.find('-') < line.find(' ');
    if (is_mapping) {
      nameless = line.find(" /dev/zero (deleted)") != std::string::npos ||
                 line.find(" /SYSV") != std::string::npos;
    } else if (nameless && line.starts_with("Pss:")) {
      bytes += std::strtoll(line.c_str() + sizeof "Pss:", nullptr, 10) * kKilobyte;
    }
  }
  return bytes;
}

}  // namespace

ProcessMemory resident_memory(pid_t pid) {
  ProcessMemory memory;
  (void)with_threads(pid, [&](const std::string& directory) {
    return read(directory + "/status", "RssAnon", "VmSwap", "RssShmem", memory);
  });
  return memory;
}

ProcessMemory proportional_memory(pid_t pid, Nameless nameless) {
  ProcessMemory memory;
  const bool told = with_threads(pid, [&](const std::string& directory) {
    if (!read(directory + "/smaps_rollup", "Pss_Anon", "SwapPss", "Pss_Shmem", memory))
      return false;
    memory.anonymous_bytes += page_table_bytes(directory);
    if (nameless == Nameless::kAsk && memory.shared_bytes > 0) {
      memory.nameless_bytes = nameless_shared_bytes(directory + "/smaps");
    }
    return true;
  });
  // One that cannot be looked into counts with all that it maps.
  return told ? memory : resident_memory(pid);
}

}  // namespace sandbox::box
