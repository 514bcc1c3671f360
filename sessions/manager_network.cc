// The network: which of the hosts that the operator allows a session may reach. Its row has what
// was asked for; each time its box starts, that is cut with what is allowed then.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "sandbox/shortened_text.h"
#include "sandbox/wire/json.h"
#include "sessions/certificates.h"
#include "sessions/manager.h"

namespace sessions {

using base::Error;
using nlohmann::json;
using sandbox::NetworkRule;

std::vector<NetworkRule> GrantedNetwork::all() const {
  std::vector<NetworkRule> all = hosts;
  for (const auto& [name, rules] : sets) all.insert(all.end(), rules.begin(), rules.end());
  return all;
}

namespace {

Error invalid_network(const std::string& message) {
  return base::error(Error::Kind::kInvalid, message);
}

std::string list_of(const GrantedNetwork& granted) {
  std::string text;
  for (const auto& [name, hosts] : granted.sets) text += (text.empty() ? "" : ", ") + name;
  for (const NetworkRule& rule : granted.hosts) {
    text += (text.empty() ? "" : ", ") + text_of(rule);
  }
  return text.empty() ? "none" : text;
}

std::string remedy(const std::string& name) {
  return "whoever runs hutch can allow it with --allow " + name +
         ", or in the configuration with allow = [\"" + name + "\"] in [network]";
}

// Of a set its hosts, where it is allowed; else the host that the text names.
base::Result<std::vector<NetworkRule>> hosts_of(const std::string& text,
                                                const GrantedNetwork& granted) {
  if (const auto set = granted.sets.find(text); set != granted.sets.end()) return set->second;
  NetworkRule rule = TRY(sandbox::parse_network_rule(text));
  return std::vector<NetworkRule>{std::move(rule)};
}

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

// Whoever misspells a key would believe that it holds.
base::Status check_network_keys(const json& network) {
  if (!network.is_object()) return invalid_network("network must be an object");
  for (const auto& [key, value] : network.items()) {
    if (key != "allow" && key != "block_outbound" && key != "credentials" &&
        key != "deny_addresses") {
      return invalid_network("unknown key network." + sandbox::echoed(key) +
                             "; there are: allow, block_outbound, credentials, deny_addresses");
    }
  }
  const json block = network.value("block_outbound", json(false));
  if (!block.is_boolean() && !block.is_null()) {
    return invalid_network("network.block_outbound must be true or false");
  }
  return base::done();
}

base::Result<std::vector<std::string>> network_texts(const json& network, const std::string& key) {
  const json value = network.value(key, json::array());
  const Error malformed =
      invalid_network("network." + key + " must be an array of strings, at most " +
                      std::to_string(sandbox::kNetworkRulesMax));
  std::vector<std::string> texts;
  if (value.is_null()) return texts;
  if (!value.is_array() || value.size() > sandbox::kNetworkRulesMax) return malformed;
  for (const json& entry : value) {
    if (!entry.is_string()) return malformed;
    texts.push_back(entry.get<std::string>());
  }
  return texts;
}

}  // namespace

base::Result<std::optional<std::string>> Manager::choose_network(const std::string& text) const {
  if (text.empty()) return std::optional<std::string>();
  const json network = TRY(sandbox::wire::parse_json(text));
  if (network.is_null() || network.empty()) return std::optional<std::string>();
  TRY(check_network_keys(network));
  const GrantedNetwork& granted = config_.network;
  const auto credentials = TRY(network_texts(network, "credentials"));
  const auto asked = TRY(network_texts(network, "allow"));
  const bool blocks = network.value("block_outbound", json()) == json(true);
  if (blocks && !(asked.empty() && credentials.empty())) {
    return invalid_network(
        "network.block_outbound is true: then network.allow and credentials are empty");
  }
  auto denied = sandbox::ranges_from_json(network.value("deny_addresses", json()));
  if (!denied.ok()) return std::move(denied).error().context("network.deny_addresses");
  const bool says_nothing = network.value("allow", json()).is_null();
  if (says_nothing && !denied.value().empty()) {
    return invalid_network("network.deny_addresses goes with network.allow");
  }
  if (!blocks && credentials.empty() && says_nothing) return std::optional<std::string>();
  std::vector<NetworkRule> chosen;
  for (const std::string& name : asked) {
    auto hosts = hosts_of(name, granted);
    if (!hosts.ok()) return std::move(hosts).error().context("network.allow");
    if (!are_within(hosts.value(), granted.all())) {
      return invalid_network("network.allow: " + sandbox::echoed(name) +
                             " is not allowed here; allowed are: " + list_of(granted) + "; " +
                             remedy(sandbox::echoed(name)));
    }
    chosen.insert(chosen.end(), hosts.value().begin(), hosts.value().end());
  }
  auto checked = sandbox::check_network_rules(chosen);
  if (!checked.ok()) return std::move(checked).error().context("network.allow");
  for (const std::string& name : credentials) {
    if (!contains(granted.credentials, name)) {
      return invalid_network(
          "network.credentials: " + sandbox::echoed(name) +
          " is none that sessions may use here; whoever runs hutch can allow it with "
          "--credential " +
          sandbox::echoed(name));
    }
  }
  json row{{"allow", asked}, {"credentials", credentials}};
  if (!denied.value().empty()) row["deny_addresses"] = sandbox::ranges_to_json(denied.value());
  return std::optional<std::string>(sandbox::wire::print_json(row));
}

base::Result<Manager::Network> Manager::network_of(const Session& session) const {
  const GrantedNetwork& granted = config_.network;
  const std::vector<NetworkRule> all = granted.all();
  Network result;
  for (const std::string& text : TRY(store_.network_grants(session.id))) {
    result.hosts.push_back(TRY(sandbox::parse_network_rule(text)));
  }
  if (!session.network) {
    if (granted.unasked) {
      result.hosts.insert(result.hosts.end(), all.begin(), all.end());
      TRY(add_credentials(granted.credentials, result));
    }
    TRY(add_index_credentials(result));
    return result;
  }
  const json row = TRY(sandbox::wire::parse_json(*session.network));
  for (const std::string& name : TRY(network_texts(row, "allow"))) {
    const auto hosts = hosts_of(name, granted);
    if (!hosts.ok() || !are_within(hosts.value(), all)) {
      add_note(name + " cannot be reached, since it is not allowed any more; " + remedy(name),
               result.note);
      continue;
    }
    result.hosts.insert(result.hosts.end(), hosts.value().begin(), hosts.value().end());
  }
  result.denied = TRY(sandbox::ranges_from_json(row.value("deny_addresses", json())));
  const auto names = TRY(network_texts(row, "credentials"));
  TRY(add_credentials(names, result));
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

// What holds for any host, also one that a session without a network is allowed later.
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
