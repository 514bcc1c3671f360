// Measures what a session uses, as /proc and its directories tell: how much, and who the most. May
// take as long as a hostile session makes it. Safe from any thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <vector>

#include "base/fd.h"
#include "base/work_budget.h"
#include "sandbox/box/memory_ledger.h"
#include "sandbox/box/socket_memory.h"
#include "sandbox/limits.h"

namespace sandbox::box {

struct Measured {
  pid_t init_host_pid = -1;
  int init_pidfd = -1;           // borrowed
  std::vector<int> directories;  // borrowed: workspace, home and /tmp
  std::vector<int> tmpfs;        // borrowed: the box's own
};

// Each part of a look may cost this much. An honest session takes less, even with all that its
// limits give it, so its looks are never cut short.
struct LookBounds {
  base::WorkBudget::Bounds names;        // names of files, in its directories
  base::WorkBudget::Bounds descriptors;  // and threads that may have others
  base::WorkBudget::Bounds processes;    // and threads
  base::WorkBudget::Bounds sockets;
};
LookBounds look_bounds(const Limits& limits);

struct ProcessUsage {
  std::size_t processes = 0;
  std::int64_t tasks = 0;         // processes and threads; 0 when not asked for
  std::int64_t memory_bytes = 0;  // more than `memory_max`, or not exact; 0 when not asked for
  SocketMemory sockets = SocketMemory::kWithin;
  base::UniqueFd largest;    // pidfd of who uses most of it, when it is more than the most
  bool uncountable = false;  // there were more processes and threads than the bounds say
};

// Looks at the processes of a session, and keeps what is known from the looks before.
class ProcessLooks {
 public:
  struct Questions {
    bool tasks = false;
    bool memory = false;
    std::int64_t memory_files_bytes = 0;  // as measure_memory_files() has found them
  };

  ProcessLooks(Measured measured, const Limits& limits);

  // It is for one thread at a time.
  ProcessUsage look(const Questions& questions, const std::stop_token& stop);

 private:
  SocketMemory look_at_sockets();

  const Measured measured_;
  const Limits limits_;
  const LookBounds bounds_;
  const SocketBounds socket_bounds_;
  const std::int64_t memory_bytes_max_;
  std::chrono::steady_clock::time_point next_look_at_sockets_{};
  MemoryLedger ledger_;
};

// Returns the bytes of memory files that somebody holds open and that lie on no file system of the
// box.
std::int64_t measure_memory_files(const Measured& measured, const Limits& limits,
                                  const std::stop_token& stop);

// Says what there was too much of to look through, or that something is closed to the count.
enum class Uncountable { kNothing, kClosed, kNames, kDescriptors, kProcesses };

// Returns why a run is ended for it, in words for whoever made it.
const char* reason_of(Uncountable what);

struct DiskUsage {
  std::int64_t bytes = 0;
  std::int64_t files = 0;
  std::int64_t deleted_bytes = 0;  // a part of `bytes`: files without a name, but open
  std::int64_t deleted_files = 0;
  // Parts of these, by name: what has changed since `since_ns`.
  std::int64_t changed_bytes = 0;
  std::int64_t changed_files = 0;
  bool complete = true;       // false: things were moved under the count, and more may be there
  std::vector<pid_t> closed;  // see DeletedFiles
  Uncountable uncountable = Uncountable::kNothing;
  bool cut_short = false;  // nothing else of it means anything
  // This is a question to the look that gets this as the one before: a time of st_ctim in
  // nanoseconds, or 0 for none.
  std::int64_t since_ns = 0;
};

// Returns how many files of a directory are counted at most, so that growth beyond the limit can be
// seen, and also that they become fewer.
std::int64_t counted_files_most(const Limits& limits);

// Counts up to about counted_files_most(), which is then what it says. Where what has a name
// has grown beyond a limit, what has none is not looked for: it counts as it did in `before`. To
// look for it takes longest, and is cut short when `hurry` is requested.
DiskUsage measure_disk(const Measured& measured, const Limits& limits, const DiskUsage& before,
                       const std::stop_token& stop, const std::stop_token& hurry);

}  // namespace sandbox::box
