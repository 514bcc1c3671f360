// Files that have no name any more but are still open: no walk of a directory finds them, and they
// take space until the last descriptor closes. proc_pid_fd(5), kcmp(2).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "base/work_budget.h"

namespace sandbox::box {

struct DeletedFile {
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t bytes = 0;  // on disk or in memory, not the apparent size
};

struct DeletedFiles {
  std::vector<DeletedFile> files;
  // The descriptors of these processes cannot be seen, though they have memory. A process that is
  // about to execute a program may be among them: only one that stays closed hides.
  std::vector<pid_t> closed;
};

// Returns the deleted files that these processes (pids of the host) and their threads hold open,
// each file once. memfds are among them. Ends early when told to stop, when `is_enough` says so of
// a file, or when the budget is spent: a step for each thread and each descriptor.
DeletedFiles deleted_open_files(const std::vector<pid_t>& pids, base::WorkBudget& budget,
                                const std::stop_token& stop = {},
                                const std::function<bool(const DeletedFile&)>& is_enough = {});

}  // namespace sandbox::box
