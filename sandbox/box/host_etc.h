// The plan of a box says here which entries of the host's /etc it has.
#pragma once

#include <string>

#include "sandbox/box/plan_writer.h"

namespace sandbox::box {

// The host's is at `etc`.
void add_host_etc(PlanWriter& plan, const std::string& etc);

// Keeps the lines of a php.ini, or of a file in its conf.d, that say how programs run, such as
// which extensions they have. Others name hosts, users and passwords.
std::string harmless_settings(const std::string& ini);

}  // namespace sandbox::box
