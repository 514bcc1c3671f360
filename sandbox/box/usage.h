// What a session uses, as /proc and its directories tell: how much, and who the most. May take as
// long as a hostile session makes it. Safe from any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <vector>

#include "sandbox/base/fd.h"

namespace sandbox::box {

struct Measured {
  pid_t init_host_pid = -1;
  int init_pidfd = -1;           // borrowed
  std::vector<int> directories;  // borrowed: workspace, home and /tmp
  std::vector<int> tmpfs;        // borrowed: the box's own
};

struct ProcessUsage {
  std::size_t processes = 0;
  std::int64_t tasks = 0;         // processes and threads; 0 when not asked for
  std::int64_t memory_bytes = 0;  // more than `memory_max`, or not exact; 0 when not asked for
  std::int64_t socket_bytes = 0;  // see socket_memory.h
  base::UniqueFd largest;         // pidfd of who uses most of it, when it is more than the most
};

struct ProcessQuestions {
  bool tasks = false;
  bool memory = false;
  std::int64_t memory_bytes_max = 0;
};

ProcessUsage measure_processes(const Measured& measured, const ProcessQuestions& questions,
                               const std::stop_token& stop);

struct DiskUsage {
  std::int64_t bytes = 0;
  std::int64_t files = 0;
  std::int64_t deleted_bytes = 0;  // of both: without a name, but open
  std::int64_t deleted_files = 0;
  bool complete = true;         // false: things were moved under the count, and more may be there
  std::int64_t unreadable = 0;  // directories that were closed to the count again and again
  std::vector<pid_t> closed;    // see DeletedFiles
  bool below_floor = false;     // the host has hardly any room left where they lie
};

// Counts up to about `files_max`, which is then what it says.
DiskUsage measure_disk(const Measured& measured, std::int64_t files_max,
                       const std::stop_token& stop);

}  // namespace sandbox::box
