// Writes the plan of a box: its file tree, ids and limits, for hutch-init to carry out.
#pragma once

#include <string>

#include "sandbox/base/result.h"
#include "sandbox/box_spec.h"
#include "sandbox/cgroup.h"

namespace sandbox::box {

// The user inside every box.
inline constexpr int kBoxUid = 1000;

// Before the host's programs on PATH: what calls those that cannot do in a box what they are for,
// and then says what to do (runners/bash/explain.sh).
inline constexpr const char* kExplainedPlace = "/run/hutch/explained";

// What the host cannot enforce by cgroup and init must by rlimit.
struct RlimitFallbacks {
  bool processes = false;
  bool cpus = false;
};

// kInvalid when a directory of the session is not what it must be. `entrance` leads
// into the cgroup.
base::Result<std::string> make_plan(const BoxSpec& spec, const Cgroup::Entrance& entrance,
                                    const RlimitFallbacks& fallbacks);

}  // namespace sandbox::box
