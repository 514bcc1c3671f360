#include "tools/cli/network_sets.h"

namespace tools::cli {
namespace {

std::vector<sandbox::NetworkRule> https(std::initializer_list<const char*> hosts) {
  std::vector<sandbox::NetworkRule> rules;
  for (const char* host : hosts)
    rules.push_back({.host = host, .subdomains = false, .port = sandbox::kHttpsPort});
  return rules;
}

}  // namespace

std::optional<std::vector<sandbox::NetworkRule>> network_set(const std::string& name) {
  if (name == "packages")
    return https({"pypi.org", "files.pythonhosted.org", "registry.npmjs.org"});
  if (name == "github") {
    return https({"github.com", "api.github.com", "codeload.github.com",
                  "objects.githubusercontent.com", "raw.githubusercontent.com",
                  "release-assets.githubusercontent.com"});
  }
  return std::nullopt;
}

}  // namespace tools::cli
