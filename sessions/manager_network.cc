// The network: which of the hosts that the operator allows a session may reach. Its row has what
// was asked for; each time its box starts, that is cut with what is allowed then.
#include <algorithm>

#include "sessions/certificates.h"
#include "sessions/manager.h"

namespace sessions {

using base::Error;
using sandbox::NetworkRule;

namespace {

void add_note(const std::string& note, std::string& notes) {
  notes += (notes.empty() ? "" : "; ") + note;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool are_within(const std::vector<NetworkRule>& hosts, const std::vector<NetworkRule>& most) {
  return std::all_of(hosts.begin(), hosts.end(),
                     [&most](const NetworkRule& rule) { return sandbox::is_within(rule, most); });
}

}  // namespace

base::Result<Manager::Network> Manager::network_of(const Session& session) const {
  const GrantedNetwork& granted = config_.network;
  Network result;
  for (const std::string& text : TRY(store_.network_grants(session.id))) {
    result.hosts.push_back(TRY(sandbox::parse_network_rule(text)));
  }
  if (session.network) {
    GrantedHosts now = granted_hosts(*session.network, granted);
    result.hosts.insert(result.hosts.end(), now.hosts.begin(), now.hosts.end());
    result.note = std::move(now.note);
    result.denied = session.network->denied;
    TRY(add_credentials(session.network->credentials, result));
  } else if (granted.unasked) {
    const std::vector<NetworkRule> all = granted.all();
    result.hosts.insert(result.hosts.end(), all.begin(), all.end());
    TRY(add_credentials(granted.credentials, result));
  }
  TRY(add_index_credentials(result));
  return result;
}

base::Status Manager::add_index_credentials(Network& network) const {
  for (const std::string& name : config_.network.index_credentials) {
    auto stored = store_.find_credential(name);
    if (!stored.ok()) return std::move(stored).error();
    sandbox::Credential& credential = stored.value().credential;
    if (are_within({credential.host}, network.hosts)) {
      network.credentials.push_back(std::move(credential));
    }
  }
  return base::done();
}

base::Status Manager::add_credentials(const std::vector<std::string>& names,
                                      Network& network) const {
  for (const std::string& name : names) {
    if (!contains(config_.network.credentials, name)) {
      add_note("the credential " + name + " is not one that sessions may use any more",
               network.note);
      continue;
    }
    auto stored = store_.find_credential(name);
    if (!stored.ok() && stored.error().kind != Error::Kind::kNotFound) {
      return std::move(stored).error();
    }
    if (!stored.ok()) {
      add_note(stored.error().message, network.note);
      continue;
    }
    sandbox::Credential& credential = stored.value().credential;
    // Whoever may use it may reach the host that it is for: by any request, unless a rule says by
    // which.
    const bool has_rules = std::any_of(
        network.hosts.begin(), network.hosts.end(), [&credential](const NetworkRule& rule) {
          return sandbox::limits_requests(rule) && sandbox::overlap(rule, credential.host);
        });
    if (!has_rules && !are_within({credential.host}, network.hosts)) {
      network.hosts.push_back(credential.host);
    }
    network.credentials.push_back(std::move(credential));
  }
  return base::done();
}

base::Status Manager::add_network(Network network, const Session& session,
                                  sandbox::BoxSpec& spec) const {
  if (!network.note.empty()) add_note(network.note, spec.note);
  TRY(add_bounds(session, spec));
  spec.denied_addresses = std::move(network.denied);
  if (network.hosts.empty()) return base::done();
  // Without anybody to trust, nobody can look into it.
  if (config_.network.downloads_mb > 0 && !config_.network.roots.empty()) {
    for (const std::string& host : config_.network.kept_hosts) {
      if (sandbox::allows_host(network.hosts, host)) spec.kept_hosts.push_back(host);
    }
  }
  for (const auto& [name, index] : config_.network.indexes) {
    if (!are_within({index.hosts.front()}, network.hosts)) continue;
    spec.env.insert(index.variables.begin(), index.variables.end());  // not what it has itself
  }
  const bool looks_inside =
      !network.credentials.empty() || !spec.kept_hosts.empty() ||
      std::any_of(network.hosts.begin(), network.hosts.end(),
                  [](const NetworkRule& rule) { return sandbox::limits_requests(rule); });
  Certificates certificates = TRY(
      certificates_for(config_.state_directory + "/egress", config_.network.roots, looks_inside));
  spec.certificate_bundle = std::move(certificates.bundle);
  spec.certificate_roots = std::move(certificates.roots);
  spec.certificate_authority = std::move(certificates.authority);
  spec.network = std::move(network.hosts);
  spec.credentials = std::move(network.credentials);
  return base::done();
}

// Adds the bounds that hold for any host, also one that the session is allowed later.
base::Status Manager::add_bounds(const Session& session, sandbox::BoxSpec& spec) const {
  spec.downloads_mb = config_.network.downloads_mb;
  spec.network_quota = config_.network.quota;  // a spare is for that principal
  if (session.principal_id != kSparePrincipal) {
    spec.network_quota.principal_id = session.principal_id;
  }
  if (spec.network_quota.bytes_left) {
    *spec.network_quota.bytes_left -= TRY(store_.network_bytes(spec.session_id));
  }
  if (spec.network_quota.principal_bytes_a_day) {
    sandbox::NetworkQuota& quota = spec.network_quota;
    quota.principal_day = sandbox::utc_day_now();
    quota.principal_bytes_left =
        *quota.principal_bytes_a_day -
        TRY(store_.network_bytes_on(quota.principal_id, quota.principal_day));
  }
  spec.private_hosts = config_.network.private_hosts;
  spec.network_proxy = config_.network.proxy;
  spec.network_addresses = config_.network.addresses;
  return base::done();
}

}  // namespace sessions
