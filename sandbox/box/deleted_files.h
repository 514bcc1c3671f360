// Files that have no name any more but are still open: no walk of a directory finds them, and they
// take space until the last descriptor closes. proc_pid_fd(5).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <stop_token>
#include <vector>

namespace sandbox::box {

struct DeletedFile {
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t bytes = 0;  // on disk or in memory, not the apparent size
};

// Of these processes (pids of the host), each file once. memfds are among them.
// Ends early when told to stop.
std::vector<DeletedFile> deleted_open_files(const std::vector<pid_t>& pids,
                                            const std::stop_token& stop = {});

}  // namespace sandbox::box
