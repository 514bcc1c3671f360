// Reads from the snapshot of an interpreter what it says of what it has not. A snapshot is code,
// and the host reads nothing else of it: this is JSON, of which the code may have made anything
// (runners/python/snapshot_file.py, runners/javascript/snapshot_file.mjs).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sandbox {

// The names of a snapshot's files end so once it was set aside, since nobody could read it.
inline constexpr const char* kSetAsideSnapshot = ".bad";

// A file of this name in the directory of stored state says that the sessions of its principal have
// stored as much as they may: a box stores little from then on. Servers make and remove it.
inline constexpr const char* kShareUsedUp = "full";

// Names values, each with its reason, and what else went with the process; at most kMissingMost of
// them.
struct Missing {
  std::vector<std::string> words;
  std::int64_t left_out = 0;  // so many more, as the snapshot says
};
inline constexpr std::size_t kMissingMost = 200;

struct SnapshotIndex {
  Missing not_stored;    // variables that the interpreter had, and did not store
  Missing not_woken;     // found in the snapshot before, and not read back
  std::string woken_as;  // the last run before that one was stored
};

// `name` is that of a file in the directory. kNotFound: it is not there; kInvalid: it is no
// snapshot, or one that says nothing that can be read.
base::Result<SnapshotIndex> read_snapshot_index(int directory_fd, const std::string& name);

// Returns the last run that a snapshot has, or "" where it does not say that in few bytes.
std::string run_of_snapshot(int directory_fd, const std::string& name);

// Fails with kInvalid where the file does not end as a whole snapshot does. Reads its last bytes
// alone.
base::Status check_snapshot_end(int fd);

}  // namespace sandbox
