#include "sandbox/box/network_access.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "sandbox/box/network.h"
#include "sandbox/journal_calls.h"

namespace sandbox::box {

using base::Error;
using nlohmann::json;

namespace {

Error not_in_this_box(const std::string& why) {
  return base::error(Error::Kind::kUnsupported, why);
}

}  // namespace

base::Status NetworkAccess::open(std::vector<base::UniqueFd> sockets) {
  if (of_.spec.network.empty()) return base::done();
  journal_.emplace(of_.session_fd);
  JournalRoom::Actions actions;
  actions.call = [this] {
    const std::string& place = of_.spec.egress_directory;
    call_for_journal(place.substr(0, place.rfind('/')), of_.spec.session_id);
  };
  actions.most = [this] {
    JournalRoom::Around around = of_.around();
    around.journal_bytes = journal_bytes();
    return JournalRoom::bytes_most(around);
  };
  actions.hold_door = [this](bool is_full) {
    if (link_) link_->hold(is_full);
  };
  room_.emplace(of_.loop, *journal_, std::move(actions));
  link_ = TRY(EgressLink::open(of_.loop, of_.spec, std::move(sockets), [this](const json& event) {
    journal_->add(event);
    room_->look();
    of_.told(event);
  }));
  return base::done();
}

std::int64_t NetworkAccess::journal_bytes() const { return journal_ ? journal_->bytes() : 0; }

void NetworkAccess::catch_up() {
  if (link_) link_->catch_up();
}

void NetworkAccess::end() {
  if (link_) link_->finish();
  if (journal_) journal_->end_all();
}

// Opens the listening sockets that these rules need and that are not there yet.
base::Status NetworkAccess::listen_for(const std::vector<NetworkRule>& rules) {
  std::vector<Listener> missing = listeners_of(rules);
  if (link_) {
    const std::vector<Listener>& there = link_->listeners();
    std::erase_if(missing, [&there](const Listener& one) {
      return std::any_of(there.begin(), there.end(), [&one](const Listener& other) {
        return one.port == other.port && std::string_view(one.protocol) == other.protocol;
      });
    });
  }
  if (missing.empty()) return base::done();
  auto sockets = of_.listen(plan_of(missing));
  if (!sockets.ok()) return not_in_this_box(sockets.error().message);
  if (link_) {
    link_->add(missing, std::move(sockets).value());
    return base::done();
  }
  std::vector<NetworkRule> before = std::exchange(of_.spec.network, rules);
  auto opened = open(std::move(sockets).value());
  if (!opened.ok()) of_.spec.network = std::move(before);
  return opened;
}

base::Status NetworkAccess::allow(const std::vector<NetworkRule>& rules, bool take_back) {
  std::vector<NetworkRule> changed = of_.spec.network;
  for (const NetworkRule& rule : rules) {
    std::erase(changed, rule);
    if (take_back) continue;
    if (limits_requests(rule) && of_.spec.certificate_authority.empty()) {
      return not_in_this_box("its processes do not trust the door, which would look into TLS");
    }
    changed.push_back(rule);
  }
  TRY(check_network_rules(changed));
  if (!take_back) TRY(listen_for(changed));
  of_.spec.network = std::move(changed);
  if (link_) link_->tell_rules();
  return base::done();
}

base::Status NetworkAccess::set(BoxNetwork network) {
  const bool looks_inside =
      !network.credentials.empty() ||
      std::any_of(network.rules.begin(), network.rules.end(),
                  [](const NetworkRule& rule) { return limits_requests(rule); });
  if (looks_inside && of_.spec.certificate_authority.empty()) {
    return not_in_this_box("its processes do not trust the door, which would look into TLS");
  }
  TRY(check_network_rules(network.rules));
  // Before anything is reached by the new rules.
  auto denied_before = std::exchange(of_.spec.denied_addresses, network.denied_addresses);
  if (auto listens = listen_for(network.rules); !listens.ok()) {
    of_.spec.denied_addresses = std::move(denied_before);
    return listens;
  }
  of_.spec.network = std::move(network.rules);
  of_.spec.credentials = std::move(network.credentials);
  if (link_) link_->tell_rules();
  return base::done();
}

}  // namespace sandbox::box
