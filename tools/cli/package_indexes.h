// Finds where this machine's pip and npm find packages, as their own configuration says it:
// sessions that may install packages use the same.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/credential.h"
#include "sandbox/network_rule.h"
#include "tools/cli/settings.h"

namespace tools::cli {

struct PackageIndexes {
  struct Manager {
    std::vector<sandbox::NetworkRule> hosts;       // none: it has its usual index
    std::map<std::string, std::string> variables;  // that say so to it, without logins
  };
  struct Login {
    sandbox::Credential credential;
    std::string value;
  };
  Manager pip;
  Manager npm;
  std::vector<Login> logins;
  std::string certificates;  // PEM: authorities that the two trust
};

base::Result<PackageIndexes> package_indexes(const Settings& settings);

}  // namespace tools::cli
