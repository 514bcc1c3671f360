// Names the cgroups of a session, and tells whose a cgroup of an older name is.
//
// A name has the session's id, and the device and inode of the directory that sessions lie in: a
// copy of a state directory has the same ids, and another inode. So neither of the two ends or
// removes what is the other's.
#pragma once

#include <string>

namespace sandbox {

// Returns "hutch-session_k2-801-1c40" for ".../sessions/session_k2".
std::string cgroup_name(const std::string& session_directory);

// Until 0.1 the id was all of the name, in a state directory and in each copy of it.
std::string former_cgroup_name(const std::string& session_directory);

// Returns whether something runs in the cgroup that has this very session's /workspace; false for
// what we may not look at.
bool is_cgroup_of(const std::string& cgroup_directory, const std::string& session_directory);

}  // namespace sandbox
