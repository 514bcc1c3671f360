// Finds the snapshots of a session's interpreters in its directory, and says what they have not.
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
// Returns those that were set aside since nobody could read them.
std::vector<StoredSnapshot> snapshots_set_aside(const SessionDirectory& files);

}  // namespace sessions
