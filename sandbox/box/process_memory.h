// Tells what processes cost in memory. proc_pid_status(5), proc_pid_smaps_rollup(5).
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace sandbox::box {

struct ProcessMemory {
  std::int64_t anonymous_bytes = 0;  // and the page tables, which are as large as code likes
  std::int64_t shared_bytes = 0;     // tmpfs, memfd, shared mappings; not files of a disk
  // It is the part of `shared_bytes` that no file system and no descriptor leads to; only
  // proportional_memory() tells it.
  std::int64_t nameless_bytes = 0;
};

// Counts a page in every process that has it mapped: cheap, and never less than the truth.
ProcessMemory resident_memory(pid_t pid);

// Counts a page that n processes share as 1/n in each, so the sum over processes is the truth.
// Walks the page tables of the process, and what is nameless takes as long again. Returns
// resident_memory() for a process that cannot be looked into.
enum class Nameless { kAsk, kLeave };
ProcessMemory proportional_memory(pid_t pid, Nameless nameless = Nameless::kAsk);

}  // namespace sandbox::box
