// Keeps what a runner says that a run has shown: small forms go into the record, whole ones into
// files of /runs/<run_id>/, named <n>.html and so on after the n-th output. All of it is hostile.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "sandbox/box/job.h"

namespace sandbox::box {

// Takes an "output" message, with its picture in `blob`. Returns false when something of it was
// dropped.
bool add_output(Job& job, const nlohmann::json& message, const std::string& blob);

// Takes a "part" message: the next bytes of one form of the output that comes next. Returns false
// when that form was dropped.
bool add_part(Job& job, const nlohmann::json& message, const std::string& blob);

// Drops the parts of an output that has not come and will not.
void drop_parts(Job& job);

}  // namespace sandbox::box
