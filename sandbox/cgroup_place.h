// Finds where in a hierarchy the cgroup of a session lies, and makes it there. cgroups(7), and
// systemd's "Control Group APIs and Delegation".
//
// In version 2 a cgroup that hands controllers down may have no processes of its own, so ours
// cannot simply be the parent. Sessions lie in a cgroup "hutch-sessions", which hands the
// controllers on, so that a service manager whose cgroup lies above cannot take them away. Where:
//
// 1. In ours, when it was delegated to us, is all we see (a container), or has no processes but
//    hutch's: those in it move into the leaf "hutch-supervisor".
// 2. Else in the one above ours, where that is open to us: root in a service or a login session, a
//    program among others in a unit of a user's service manager.
// 3. Else directly in ours, without any controller: sessions can be frozen and killed as a whole.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/cgroup_directory.h"

namespace sandbox {

// Processes that are in no session lie in this leaf, where there is one.
inline constexpr std::string_view kSupervisorCgroup = "/hutch-supervisor";

// Makes the cgroup `name`, which begins with a slash, after ending an earlier one of that name, and
// returns its directory: one that processes started by this one can join. Empty when there is none.
// May move every process of our own cgroup into a leaf of it.
std::string place_cgroup(const CgroupHierarchy& hierarchy, const std::string& name);

// Returns every directory in which place_cgroup() may have made one. Changes nothing.
std::vector<std::string> cgroup_parents(const CgroupHierarchy& hierarchy);

// Ends the cgroup and removes what place_cgroup() made around it, once nobody else uses that.
void displace_cgroup(const std::string& directory);

}  // namespace sandbox
