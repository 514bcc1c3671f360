// These functions of Box give it a network at its start, and change it while the box is up.
#include <algorithm>
#include <string_view>
#include <utility>

#include "sandbox/box/box.h"
#include "sandbox/journal_calls.h"

namespace sandbox::box {

using base::Error;
using nlohmann::json;

namespace {

Error not_in_this_box(const std::string& why) {
  return base::error(Error::Kind::kUnsupported, why);
}

}  // namespace

base::Status Box::open_network(std::vector<base::UniqueFd> sockets) {
  if (spec_.network.empty()) return base::done();
  network_journal_.emplace(session_directory_.get());
  JournalRoom::Actions actions;
  actions.call = [this] {
    const std::string& place = spec_.egress_directory;
    call_for_journal(place.substr(0, place.rfind('/')), spec_.session_id);
  };
  actions.most = [this] { return journal_bytes_most(); };
  actions.hold_door = [this](bool is_full) {
    if (egress_) egress_->hold(is_full);
  };
  journal_room_.emplace(loop_, *network_journal_, std::move(actions));
  egress_ = TRY(EgressLink::open(loop_, spec_, std::move(sockets), [this](const json& event) {
    network_journal_->add(event);
    journal_room_->look();
    if (runs_) runs_->network_used(event);
  }));
  return base::done();
}

// Beside a server it is taken over as it comes. Alone it is a part of what the session keeps.
std::int64_t Box::journal_bytes_most() const {
  constexpr std::int64_t kMost = JournalRoom::kBytesMost;
  if (!control_ || control_->attached()) return kMost;
  if (disk_quota_) return disk_quota_->used_up() ? kMost : JournalRoom::kBytesMostAlone;
  const std::int64_t left = (spec_.limits.disk_mb << 20) - watchdog_->disk_bytes();
  return std::clamp(journal_bytes() + left, kMost, JournalRoom::kBytesMostAlone);
}

std::int64_t Box::journal_bytes() const { return network_journal_ ? network_journal_->bytes() : 0; }

void Box::end_network() {
  if (egress_) egress_->finish();
  if (network_journal_) network_journal_->end_all();
}

// Opens the listening sockets that these rules need and that are not there yet.
base::Status Box::listen_for(const std::vector<NetworkRule>& rules) {
  std::vector<Listener> missing = listeners_of(rules);
  if (egress_) {
    const std::vector<Listener>& there = egress_->listeners();
    std::erase_if(missing, [&there](const Listener& one) {
      return std::any_of(there.begin(), there.end(), [&one](const Listener& other) {
        return one.port == other.port && std::string_view(one.protocol) == other.protocol;
      });
    });
  }
  if (missing.empty()) return base::done();
  auto sockets = init_->listen(spec_.program_directory + "/hutch-init", plan_of(missing));
  if (!sockets.ok()) return not_in_this_box(sockets.error().message);
  if (egress_) {
    egress_->add(missing, std::move(sockets).value());
    return base::done();
  }
  std::vector<NetworkRule> before = std::exchange(spec_.network, rules);
  auto opened = open_network(std::move(sockets).value());
  if (!opened.ok()) spec_.network = std::move(before);
  return opened;
}

base::Status Box::allow(const std::vector<NetworkRule>& rules, bool take_back) {
  std::vector<NetworkRule> changed = spec_.network;
  for (const NetworkRule& rule : rules) {
    std::erase(changed, rule);
    if (take_back) continue;
    if (limits_requests(rule) && spec_.certificate_authority.empty()) {
      return not_in_this_box("its processes do not trust the door, which would look into TLS");
    }
    changed.push_back(rule);
  }
  TRY(check_network_rules(changed));
  if (!take_back) TRY(listen_for(changed));
  spec_.network = std::move(changed);
  if (egress_) egress_->tell_rules();
  return base::done();
}

base::Status Box::set_network(BoxNetwork network) {
  const bool looks_inside =
      !network.credentials.empty() ||
      std::any_of(network.rules.begin(), network.rules.end(),
                  [](const NetworkRule& rule) { return limits_requests(rule); });
  if (looks_inside && spec_.certificate_authority.empty()) {
    return not_in_this_box("its processes do not trust the door, which would look into TLS");
  }
  TRY(check_network_rules(network.rules));
  // Before anything is reached by the new rules.
  auto denied_before = std::exchange(spec_.denied_addresses, network.denied_addresses);
  if (auto listens = listen_for(network.rules); !listens.ok()) {
    spec_.denied_addresses = std::move(denied_before);
    return listens;
  }
  spec_.network = std::move(network.rules);
  spec_.credentials = std::move(network.credentials);
  if (egress_) egress_->tell_rules();
  return base::done();
}

}  // namespace sandbox::box
