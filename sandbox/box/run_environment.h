// The environment of a process that runs code: built from nothing, and from what the session and
// the run were given.
#pragma once

#include <string>
#include <vector>

#include "sandbox/box/job.h"
#include "sandbox/box/profiles.h"
#include "sandbox/box_spec.h"

namespace sandbox::box {

// Returns the directory in which a process for it starts. A context's interpreter enters its own
// directory with its first run, which says so where there is none.
std::string start_directory_of(const RunRequest& request);

// Returns NAME=value, each. `own`: a process for this run alone, which gets the run's variables as
// well.
std::vector<std::string> environment_of(const BoxSpec& spec, const Profile& profile, const Job& job,
                                        bool own);

}  // namespace sandbox::box
