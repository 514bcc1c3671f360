#include "sessions/session_networks.h"

#include <algorithm>

#include "base/text.h"
#include "sessions/certificates.h"
#include "sessions/credential_table.h"
#include "sessions/network_choice.h"
#include "sessions/network_table.h"
#include "sessions/session.h"
#include "sessions/session_directory.h"

namespace sessions {

using base::Error;
using sandbox::NetworkRule;

namespace {

void add_note(const std::string& note, std::string& notes) { base::append_part(notes, note, "; "); }

// Runners say of a package that is missing by which name a session comes to its index that this one
// does not reach.
void add_ways_to_indexes(const std::vector<NetworkRule>& hosts, const GrantedNetwork& granted,
                         sandbox::BoxSpec& spec) {
  for (const auto& [manager, index] : granted.indexes) {
    const NetworkRule& first = index.hosts.front();
    if (sandbox::allows(hosts, first.host, first.port)) continue;
    if (const auto name = name_to_ask(first.host, granted))
      spec.env["HUTCH_ASK_" + manager] = *name;
  }
}

}  // namespace

base::Result<SessionNetworks::Network> SessionNetworks::network_of(const Session& session) const {
  Network result;
  for (const std::string& text : TRY(network_.grants(session.id))) {
    result.hosts.push_back(TRY(sandbox::parse_network_rule(text)));
  }
  if (session.network) {
    GrantedHosts now = granted_hosts(*session.network, granted_);
    result.hosts.insert(result.hosts.end(), now.hosts.begin(), now.hosts.end());
    result.note = std::move(now.note);
    result.denied = session.network->denied;
    TRY(add_credentials(session.network->credentials, result));
  } else if (granted_.unasked) {
    const std::vector<NetworkRule> all = granted_.all();
    result.hosts.insert(result.hosts.end(), all.begin(), all.end());
    TRY(add_credentials(granted_.credentials, result));
  }
  TRY(add_index_credentials(result));
  return result;
}

base::Status SessionNetworks::add_index_credentials(Network& network) const {
  for (const std::string& name : granted_.index_credentials) {
    auto stored = credentials_.find(name);
    if (!stored.ok()) return std::move(stored).error();
    sandbox::Credential& credential = stored.value().credential;
    if (sandbox::are_within({credential.host}, network.hosts)) {
      network.credentials.push_back(std::move(credential));
    }
  }
  return base::done();
}

base::Status SessionNetworks::add_credentials(const std::vector<std::string>& names,
                                              Network& network) const {
  for (const std::string& name : names) {
    const auto& usable = granted_.credentials;
    if (std::find(usable.begin(), usable.end(), name) == usable.end()) {
      add_note("the credential " + name + " is not one that sessions may use any more",
               network.note);
      continue;
    }
    auto stored = credentials_.find(name);
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
    if (!has_rules && !sandbox::are_within({credential.host}, network.hosts)) {
      network.hosts.push_back(credential.host);
    }
    network.credentials.push_back(std::move(credential));
  }
  return base::done();
}

base::Status SessionNetworks::add(Network network, const Session& session,
                                  sandbox::BoxSpec& spec) const {
  if (!network.note.empty()) add_note(network.note, spec.note);
  TRY(add_bounds(session, spec));
  spec.denied_addresses = std::move(network.denied);
  add_ways_to_indexes(network.hosts, granted_, spec);
  if (network.hosts.empty()) return base::done();
  // Without anybody to trust, nobody can look into it.
  if (granted_.downloads_mb > 0 && !granted_.roots.empty()) {
    for (const std::string& host : granted_.kept_hosts) {
      if (sandbox::allows_host(network.hosts, host)) spec.kept_hosts.push_back(host);
    }
  }
  for (const auto& [name, index] : granted_.indexes) {
    if (!sandbox::are_within({index.hosts.front()}, network.hosts)) continue;
    spec.env.insert(index.variables.begin(), index.variables.end());  // not what it has itself
  }
  const bool looks_inside =
      !network.credentials.empty() || !spec.kept_hosts.empty() ||
      std::any_of(network.hosts.begin(), network.hosts.end(),
                  [](const NetworkRule& rule) { return sandbox::limits_requests(rule); });
  Certificates certificates =
      TRY(certificates_for(egress_directory(state_directory_), granted_.roots, looks_inside));
  spec.certificate_bundle = std::move(certificates.bundle);
  spec.certificate_roots = std::move(certificates.roots);
  spec.certificate_authority = std::move(certificates.authority);
  spec.network = std::move(network.hosts);
  spec.credentials = std::move(network.credentials);
  return base::done();
}

// Adds the bounds that hold for any host, also one that the session is allowed later.
base::Status SessionNetworks::add_bounds(const Session& session, sandbox::BoxSpec& spec) const {
  spec.downloads_mb = granted_.downloads_mb;
  spec.network_quota = granted_.quota;  // a spare is for that principal
  if (session.principal_id != kSparePrincipal) {
    spec.network_quota.principal_id = session.principal_id;
  }
  if (spec.network_quota.bytes_left) {
    *spec.network_quota.bytes_left -= TRY(network_.bytes(spec.session_id));
  }
  if (spec.network_quota.principal_bytes_a_day) {
    sandbox::NetworkQuota& quota = spec.network_quota;
    quota.principal_day = sandbox::utc_day_now();
    quota.principal_bytes_left = *quota.principal_bytes_a_day -
                                 TRY(network_.bytes_on(quota.principal_id, quota.principal_day));
  }
  spec.private_hosts = granted_.private_hosts;
  spec.network_proxy = granted_.proxy;
  spec.network_addresses = granted_.addresses;
  return base::done();
}

}  // namespace sessions
