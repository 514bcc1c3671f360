// Tells which files that programs of the host obey a run has made in folders of the host. Those
// that are there when a box starts are covered; what is not there cannot be.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "sandbox/box_spec.h"

namespace sandbox::box {

// An ObeyedName tells whether such a file is still as it was: by inode and type, since a file may
// get the inode of the link that it replaces.
struct ObeyedName {
  ino_t inode;
  mode_t type;

  friend bool operator==(const ObeyedName&, const ObeyedName&) = default;
};
using ObeyedNames = std::map<std::string, ObeyedName>;

// Returns the folders that can be looked into before and after each run: those that can be written
// to, on a file system of this machine. One of a network or of another program (FUSE, 9p) may not
// answer, and hutch-box would wait for it.
std::vector<HostFolder> folders_to_look_into(int root_fd, const BoxSpec& spec);

// Returns what is there of kObeyedFiles at the top of each of the folders, as far as that can be
// written to in the box with this root.
ObeyedNames find_obeyed_names(int root_fd, const std::vector<HostFolder>& folders);

// Returns what whoever made the run is to know of those that were not there before, or were others;
// empty: there are none.
std::string note_of_new_names(const ObeyedNames& before, const ObeyedNames& now);

}  // namespace sandbox::box
