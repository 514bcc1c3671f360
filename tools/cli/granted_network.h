// Says how much of the network sessions of this server may reach, by its operator's settings.
#pragma once

#include "base/result.h"
#include "sessions/grants.h"
#include "tools/cli/package_indexes.h"
#include "tools/cli/settings.h"

namespace tools::cli {

// `indexes` gets what of the indexes of packages is not the network's: their logins, to be kept
// as credentials of their names, and whom they trust.
base::Result<sessions::GrantedNetwork> granted_network(const Settings& settings,
                                                       PackageIndexes& indexes);

}  // namespace tools::cli
