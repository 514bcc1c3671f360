// Finds the snapshots of a session's interpreters in its directory, and says what they have not;
// brings back those that were set aside since nobody could read them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/snapshot_index.h"

namespace sessions {

class SessionDirectory;

struct StoredSnapshot {
  std::string language;
  base::Result<sandbox::SnapshotIndex> index;  // kInvalid: it says nothing that can be read
};

// Returns those that the next interpreters read.
std::vector<StoredSnapshot> stored_snapshots(const SessionDirectory& files);
std::vector<StoredSnapshot> snapshots_set_aside(const SessionDirectory& files);

// Gives those that were set aside to the next interpreters. What these would have read instead
// comes back when the others cannot be read this time either, and else is what is set aside then.
// REQUIRES: the session has no box, and its lock is held. Returns their languages.
base::Result<std::vector<std::string>> bring_back_snapshots(const SessionDirectory& files);

}  // namespace sessions
