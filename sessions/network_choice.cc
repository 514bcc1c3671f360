#include "sessions/network_choice.h"

#include "base/shortened_text.h"
#include "base/text.h"

namespace sessions {

using sandbox::NetworkRule;

std::vector<NetworkRule> GrantedNetwork::all() const {
  std::vector<NetworkRule> all = hosts;
  for (const auto& [name, rules] : sets) all.insert(all.end(), rules.begin(), rules.end());
  return all;
}

namespace {

std::string remedy(const std::string& name) {
  return "whoever runs hutch can allow it with --allow " + name +
         ", or in the configuration with allow = [\"" + name + "\"] in [network]";
}

// Returns by which name that is granted here somebody comes to a host, or to what a manager of
// packages installs who was named as if that were a host; else how it is granted.
std::string remedy_for(const std::string& name, const GrantedNetwork& granted) {
  for (const char* manager : {"pip", "pypi", "npm", "npmjs"}) {
    if (name != manager) continue;
    return granted.sets.contains("packages") ? "packages has what pip and npm install"
                                             : remedy("packages");
  }
  if (const auto known = name_to_ask(name, granted)) return *known + " has it";
  return remedy(base::echoed(name));
}

// Returns the hosts of a set, where it is allowed; else the host that the text names.
base::Result<std::vector<NetworkRule>> hosts_of(const std::string& text,
                                                const GrantedNetwork& granted) {
  if (const auto set = granted.sets.find(text); set != granted.sets.end()) return set->second;
  NetworkRule rule = TRY(sandbox::parse_network_rule(text));
  return std::vector<NetworkRule>{std::move(rule)};
}

base::Result<std::vector<NetworkRule>> hosts_asked_for(const std::vector<std::string>& asked,
                                                       const GrantedNetwork& granted) {
  const std::vector<NetworkRule> all = granted.all();
  const std::string names = names_to_ask(granted);
  std::vector<NetworkRule> chosen;
  for (const std::string& name : asked) {
    auto hosts = hosts_of(name, granted);
    if (!hosts.ok()) return std::move(hosts).error().context("network.allow");
    if (!sandbox::are_within(hosts.value(), all)) {
      return base::invalid("network.allow: " + base::echoed(name) +
                           " is not allowed here; allowed are: " +
                           (names.empty() ? "none" : names) + "; " + remedy_for(name, granted));
    }
    chosen.insert(chosen.end(), hosts.value().begin(), hosts.value().end());
  }
  return chosen;
}

// Returns whether the rules allow it; without a port, whether they allow any of it.
bool allow_text(const std::vector<NetworkRule>& rules, const std::string& host) {
  const auto asked = sandbox::parse_network_rule(host);
  if (!asked.ok()) return false;
  const NetworkRule& rule = asked.value();
  return rule.port == 0 ? sandbox::allows_host(rules, rule.host)
                        : sandbox::allows(rules, rule.host, rule.port);
}

}  // namespace

std::optional<std::string> name_to_ask(const std::string& host, const GrantedNetwork& granted) {
  for (const auto& [name, rules] : granted.sets) {
    if (allow_text(rules, host)) return name;
  }
  for (const NetworkRule& rule : granted.hosts) {
    if (allow_text({rule}, host)) return text_of(rule);
  }
  return std::nullopt;
}

std::string names_to_ask(const GrantedNetwork& granted) {
  std::string names;
  for (const auto& [name, hosts] : granted.sets) base::append_part(names, name);
  for (const NetworkRule& rule : granted.hosts) base::append_part(names, text_of(rule));
  return names;
}

base::Result<std::optional<NetworkChoice>> choose(const NetworkWish& wish,
                                                  const GrantedNetwork& granted) {
  const std::vector<std::string> asked = wish.allow.value_or(std::vector<std::string>());
  if (wish.blocks_outbound && !(asked.empty() && wish.credentials.empty())) {
    return base::invalid(
        "network.block_outbound is true: then network.allow and credentials are empty");
  }
  if (!wish.allow && !wish.denied.empty()) {
    return base::invalid("network.deny_addresses goes with network.allow");
  }
  if (!wish.blocks_outbound && wish.credentials.empty() && !wish.allow) {
    return std::optional<NetworkChoice>();
  }
  const auto chosen = TRY(hosts_asked_for(asked, granted));
  auto checked = sandbox::check_network_rules(chosen);
  if (!checked.ok()) return std::move(checked).error().context("network.allow");
  for (const std::string& name : wish.credentials) {
    if (!base::contains(granted.credentials, name)) {
      return base::invalid(
          "network.credentials: " + base::echoed(name) +
          " is none that sessions may use here; whoever runs hutch can allow it with "
          "--credential " +
          base::echoed(name));
    }
  }
  return std::optional(NetworkChoice{asked, wish.credentials, wish.denied});
}

GrantedHosts granted_hosts(const NetworkChoice& choice, const GrantedNetwork& granted) {
  const std::vector<NetworkRule> all = granted.all();
  GrantedHosts result;
  for (const std::string& name : choice.allow) {
    const auto hosts = hosts_of(name, granted);
    if (hosts.ok() && sandbox::are_within(hosts.value(), all)) {
      result.hosts.insert(result.hosts.end(), hosts.value().begin(), hosts.value().end());
      continue;
    }
    base::append_part(
        result.note, name + " cannot be reached, since it is not allowed any more; " + remedy(name),
        "; ");
  }
  return result;
}

}  // namespace sessions
