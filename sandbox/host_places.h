// These places of the host are never granted to a session, whoever asks: secrets, what leads to
// other programs, and what hutch itself believes. Reads the host's file system; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/host_folder.h"

namespace sandbox {

// HostPlaces are absolute paths; they need not be there. A folder that is one of them, lies in one
// or holds one is refused.
struct HostPlaces {
  std::vector<std::string> never;
  std::vector<std::string> never_writable;

  friend bool operator==(const HostPlaces&, const HostPlaces&) = default;
};

// Returns the places that are never granted on any host, beside those that depend on the user and
// hutch's own.
HostPlaces system_places();
// Adds keys, tokens, browser profiles and start-up configuration of the user whose home this is.
void add_home(HostPlaces& places, const std::string& home);
// Adds the places of add_home() that exist in the homes that /etc/passwd, or a file like it, names.
void add_other_homes(HostPlaces& places, const std::string& passwd_file);

// Returns the folder with its path made absolute from `here`, device and inode. kInvalid with what
// to do for what is no directory, has a link in its path, holds another file system, or may not be
// granted.
base::Result<HostFolder> check_folder(HostFolder folder, const HostPlaces& places,
                                      const std::string& here);

// Returns all that an operator grants, each checked, none inside of another and no name twice.
base::Result<std::vector<HostFolder>> check_folders(std::vector<HostFolder> folders,
                                                    const HostPlaces& places,
                                                    const std::string& here);

}  // namespace sandbox
