// What a box has of the network, from its start on and as it changes.
#include <algorithm>
#include <string_view>
#include <utility>

#include "sandbox/box/box.h"

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
  egress_ = TRY(EgressLink::open(loop_, spec_, std::move(sockets), [this](const json& event) {
    network_journal_->add(event);
    if (runs_) runs_->network_used(event);
  }));
  return base::done();
}

// What these rules need of sockets and is not there yet.
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

}  // namespace sandbox::box
