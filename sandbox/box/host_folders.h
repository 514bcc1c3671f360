// Folders of the host in a box: what the plan says of them and, as root, their mounts.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box/plan_writer.h"
#include "sandbox/box_spec.h"

namespace sandbox::box {

// Makes a writable folder read-only, and says so in the note, where what must stay as it is in it
// cannot be told or covered now: code of another box may have brought that about, and is to get
// neither around the covers nor in the way of the sessions to come. kInvalid when a folder is not
// the directory that was granted.
base::Status narrow_host_folders(BoxSpec& spec);

// It is called after narrow_host_folders(). Looks into the folders as they are now. kInvalid when
// one is not the directory that was granted, or when what must be covered in it cannot be.
base::Status add_host_folders(PlanWriter& plan, const BoxSpec& spec);

// Returns, as root with ids of the sessions' own, one detached mount for each folder, in order:
// there, what belongs to the folder's owner is the session's, and what the session makes becomes
// the owner's. None otherwise: then init makes them. kUnsupported where the file system cannot.
base::Result<std::vector<base::UniqueFd>> make_host_mounts(const BoxSpec& spec);

// Returns how many mounts there are in /mnt of the box whose pid 1 this is. What the host renames
// or puts another file in the place of loses the mount that lies on it (rename(2), in another
// namespace). kInternal when they cannot be read.
base::Result<std::size_t> count_folder_mounts(pid_t init);

}  // namespace sandbox::box
