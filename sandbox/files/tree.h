// Whole directory trees that hostile code has made: counting and removing them.
// Neither follows a link or crosses a mount. Safe from many threads.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "base/work_budget.h"

namespace sandbox::files {

struct TreeUsage {
  std::int64_t bytes = 0;  // on disk, as du(1) counts: a file of several names once
  std::int64_t files = 0;  // inodes, directories too, the top itself not
  // Parts of these: what has changed since the time that was asked for.
  std::int64_t changed_bytes = 0;
  std::int64_t changed_files = 0;
  // Directories that could not be looked into. Those of our own id are opened to their owner for
  // it, so of these it is one that somebody closes again and again.
  std::int64_t unreadable = 0;
  // The count ended early: at `files_max`, its budget spent, told to stop, or because things were
  // moved under it.
  bool truncated = false;
};

// Stops counting at `files_max`, which is then what it says, and when told to. Takes a step of the
// budget for each name: a file may have any number of them. `directory_fd` is borrowed.
// `since_ns` is a time of st_ctim, in nanoseconds; 0 asks for no changes.
TreeUsage tree_usage(int directory_fd, std::int64_t files_max, base::WorkBudget& budget,
                     const std::stop_token& stop = {}, std::int64_t since_ns = 0);

// Removes the entry `name` of `parent_fd` and all it holds, whatever its modes and however deep.
// Not being there is success. What cannot be removed (a mount, another's file) does not stop the
// rest; the Error names the first. kUnavailable when someone goes on filling it. `parent_fd` is
// borrowed and may be O_PATH.
base::Status remove_tree(int parent_fd, const std::string& name);

}  // namespace sandbox::files
