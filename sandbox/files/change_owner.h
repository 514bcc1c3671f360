// Giving a whole tree that hostile code has made to another id of the host.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace sandbox::files {

// Is told now and then how many entries are done, of how many.
using OwnerProgress = std::function<void(std::int64_t done, std::int64_t all)>;

// All that lies in the directory `name` of `parent_fd` becomes the user's and group's `id`, and at
// last the directory itself: one that still has its former owner is not done, and what a kill cut
// short begins anew. What is root's stays root's, unless the directory is.
//
// Follows no link and crosses no mount. A file that has a name outside of the tree, too, stays as
// it is there: in the tree a copy takes its place. What fails does not stop the rest; the Error
// names the first. Nothing else may write there. `parent_fd` is borrowed and may be O_PATH.
base::Status change_owner(int parent_fd, const std::string& name, std::uint32_t id,
                          const OwnerProgress& progress);

}  // namespace sandbox::files
