// Writes PathRules into the plan: some paths of the session's own tree are read-only or hidden.
#pragma once

#include "base/result.h"
#include "sandbox/box/plan_writer.h"
#include "sandbox/box_spec.h"

namespace sandbox::box {

// Adds the covers, after everything else of the tree. Names each entry of the workspace by device
// and inode, so that init covers this one or none. Fails with kInvalid when what lies there is
// neither a directory nor a file, such as a link, or when nothing does.
base::Status add_covers(PlanWriter& plan, const BoxSpec& spec);

}  // namespace sandbox::box
