// What of the session's own tree is read-only or hidden: the plan's part of PathRules.
#pragma once

#include "sandbox/base/result.h"
#include "sandbox/box/plan_writer.h"
#include "sandbox/box_spec.h"

namespace sandbox::box {

// After everything else of the tree. Each entry of the workspace is named by device and inode, so
// that init covers this one or none. kInvalid: a link lies there, or nothing.
base::Status add_covers(PlanWriter& plan, const BoxSpec& spec);

}  // namespace sandbox::box
