#include "tools/cli/granted_network.h"

#include <arpa/inet.h>

#include <algorithm>

#include "tools/cli/network_proxy.h"
#include "tools/cli/network_sets.h"

namespace tools::cli {

using base::Error;
using sandbox::NetworkRule;

namespace {

constexpr const char* kPackagesSet = "packages";

base::Result<std::map<std::string, std::string>> checked_addresses(const Settings& settings) {
  std::map<std::string, std::string> checked;
  for (const auto& [name, address] : settings.addresses) {
    in6_addr parsed{};
    if (::inet_pton(AF_INET, address.c_str(), &parsed) != 1 &&
        ::inet_pton(AF_INET6, address.c_str(), &parsed) != 1) {
      return base::error(Error::Kind::kInvalid,
                         "network.addresses: " + name + " has no address of version 4 or 6");
    }
    checked[TRY(sandbox::canonical_host(name))] = address;
  }
  return checked;
}

NetworkRule https(const std::string& host) {
  return {.host = host, .subdomains = false, .port = sandbox::kHttpsPort};
}

void add_index(const std::string& name, const std::string& usual_host,
               PackageIndexes::Manager manager, sessions::GrantedNetwork& network) {
  const NetworkRule usual = https(usual_host);
  if (manager.hosts.empty()) manager.hosts = {usual};
  std::vector<NetworkRule>& set = network.sets[kPackagesSet];
  // An index in the place of the usual one is there so that nothing comes from that one.
  std::erase(set, usual);
  for (const NetworkRule& host : manager.hosts) {
    if (std::find(set.begin(), set.end(), host) == set.end()) set.push_back(host);
    network.kept_hosts.push_back(host.host);
    if (host != usual) network.private_hosts.push_back(host);
  }
  network.indexes[name] = {std::move(manager.hosts), std::move(manager.variables)};
}

base::Status add_indexes(const Settings& settings, sessions::GrantedNetwork& network,
                         PackageIndexes& indexes) {
  if (network.sets.contains(kPackagesSet)) {
    indexes = TRY(package_indexes(settings));
  }
  add_index("pip", "pypi.org", std::move(indexes.pip), network);
  add_index("npm", "registry.npmjs.org", std::move(indexes.npm), network);
  network.kept_hosts.emplace_back("files.pythonhosted.org");
  for (const auto& login : indexes.logins)
    network.index_credentials.push_back(login.credential.name);
  return base::done();
}

}  // namespace

base::Result<sessions::GrantedNetwork> granted_network(const Settings& settings,
                                                       PackageIndexes& indexes) {
  sessions::GrantedNetwork network;
  if (settings.mounting == Settings::Mounting::kNone) return network;
  for (const std::string& text : settings.allow) {
    if (const auto set = network_set(text)) {
      network.sets[text] = *set;
      continue;
    }
    auto rule = sandbox::parse_network_rule(text);
    if (!rule.ok()) return std::move(rule).error().context("allow");
    network.hosts.push_back(std::move(rule).value());
  }
  network.addresses = TRY(checked_addresses(settings));
  for (const std::string& text : settings.private_hosts) {
    auto rule = sandbox::parse_network_rule(text);
    if (!rule.ok()) return std::move(rule).error().context("private");
    network.private_hosts.push_back(std::move(rule).value());
  }
  const bool may_install = network.sets.contains(kPackagesSet);
  TRY(add_indexes(settings, network, indexes));
  if (!may_install) network.sets.erase(kPackagesSet);
  network.proxy = TRY(network_proxy(settings, process_environment()));
  network.credentials = settings.credentials;
  network.downloads_mb = settings.downloads_mb;
  network.quota = settings.network_quota;
  if (settings.session_mb > 0) network.quota.bytes_left = settings.session_mb << 20;
  if (settings.principal_daily_mb > 0) {
    network.quota.principal_bytes_a_day = settings.principal_daily_mb << 20;
  }
  network.unasked = settings.mounting == Settings::Mounting::kAll;
  if (network.unasked) {
    auto all = sandbox::check_network_rules(network.all());
    if (!all.ok()) return std::move(all).error().context("allow");
  }
  return network;
}

}  // namespace tools::cli
