// Hosts that belong together, under a name that --allow and network.allow take.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sandbox/network_rule.h"

namespace tools::cli {

// Returns the rules of a set. packages has the indexes of pip and npm, github has repositories and
// releases. Nothing for a name that is none of a set.
std::optional<std::vector<sandbox::NetworkRule>> network_set(const std::string& name);

}  // namespace tools::cli
