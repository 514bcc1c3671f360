// What a box has of the network, from its start on and as it changes.
#include <algorithm>

#include "sandbox/box/box.h"

namespace sandbox::box {

using base::Error;
using nlohmann::json;

namespace {

Error not_in_this_box(const std::string& why) {
  return base::error(Error::Kind::kUnsupported, why);
}

}  // namespace

base::Status Box::open_network() {
  if (spec_.network.empty()) return base::done();
  network_journal_.emplace(session_directory_.get());
  egress_ = TRY(EgressLink::open(loop_, spec_, init_->take_sockets(), [this](const json& event) {
    network_journal_->add(event);
    if (runs_) runs_->network_used(event);
  }));
  return base::done();
}

base::Status Box::allow(const std::vector<NetworkRule>& rules, bool take_back) {
  if (!egress_) return not_in_this_box("its processes were started without a network");
  std::vector<NetworkRule> changed = spec_.network;
  for (const NetworkRule& rule : rules) {
    std::erase(changed, rule);
    if (take_back) continue;
    const bool is_limited = !rule.methods.empty() || !rule.path.empty();
    if (is_limited && spec_.certificate_authority.empty()) {
      return not_in_this_box("its processes do not trust the door, which would look into TLS");
    }
    if (!egress_->listens_on(rule.port)) {
      return not_in_this_box("nothing takes connections to port " + std::to_string(rule.port) +
                             " in it");
    }
    changed.push_back(rule);
  }
  TRY(check_network_rules(changed));
  spec_.network = std::move(changed);
  egress_->tell_rules();
  return base::done();
}

}  // namespace sandbox::box
