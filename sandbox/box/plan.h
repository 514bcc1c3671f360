// Writes the plan of a box: its file tree, ids and limits, for hutch-init to carry out.
#pragma once

#include <string>

#include "base/result.h"
#include "sandbox/box_spec.h"
#include "sandbox/cgroup.h"

namespace sandbox::box {

// This is the user inside every box.
inline constexpr int kBoxUid = 1000;

// On PATH this comes before the host's programs. It has links that call those which cannot do in a
// box what they are for, and then say what to do (runners/bash/explain.sh).
inline constexpr const char* kExplainedPlace = "/run/hutch/explained";

// Names what the host cannot enforce by cgroup, so that init must: processes by rlimit, CPUs by
// affinity.
struct RlimitFallbacks {
  bool processes = false;
  bool cpus = false;
};

// Returns the plan. Fails with kInvalid when a directory of the session is not what it must be.
// `entrance` leads into the cgroup.
base::Result<std::string> make_plan(const BoxSpec& spec, const Cgroup::Entrance& entrance,
                                    const RlimitFallbacks& fallbacks);

}  // namespace sandbox::box
