// What of the network sessions of this server may reach, as its operator says it.
#pragma once

#include <vector>

#include "sandbox/base/result.h"
#include "sessions/manager.h"
#include "tools/cli/package_indexes.h"
#include "tools/cli/settings.h"

namespace tools::cli {

// `logins`: for the indexes of packages, to be kept as credentials of their names.
base::Result<sessions::GrantedNetwork> granted_network(const Settings& settings,
                                                       std::vector<PackageIndexes::Login>& logins);

}  // namespace tools::cli
