// Hosts that the operator allows one session besides, while it lives.
#include <nlohmann/json.hpp>

#include "sandbox/base/clock.h"
#include "sandbox/box_spec.h"
#include "sandbox/wire/json.h"
#include "sessions/manager.h"

namespace sessions {

using base::Error;
using sandbox::NetworkRule;

base::Result<std::string> Manager::allow(const std::string& principal_id, const std::string& id,
                                         const std::vector<NetworkRule>& rules, bool take_back) {
  const Session session = TRY(find(principal_id, id));
  if (session.status == SessionStatus::kDestroyed) return deleted();
  std::vector<NetworkRule> all = TRY(networks_.network_of(session)).hosts;
  all.insert(all.end(), rules.begin(), rules.end());
  if (!take_back) TRY(sandbox::check_network_rules(all));
  const std::int64_t now = base::now_ms();
  for (const NetworkRule& rule : rules) {
    TRY(store_.set_network_grant(session.id, sandbox::text_of(rule), !take_back, now));
  }
  const std::string detail = sandbox::wire::print_json(sandbox::rules_to_json(rules));
  TRY(store_.add_audit({now, principal_id, session.id,
                        take_back ? "network_taken_back" : "network_allowed",
                        "{\"rules\":" + detail + "}"}));
  auto box = sandbox_.look_at(session.id);
  if (!box.ok()) {
    if (box.error().kind != Error::Kind::kNotFound) return std::move(box).error();
    return std::string("nothing of it runs now");
  }
  auto allowed = box.value()->allow(rules, take_back);
  if (allowed.ok()) {
    const auto status = TRY(box.value()->status());
    TRY(store_.set_isolation(session.id, status.isolation));
    return std::string();
  }
  if (allowed.error().kind != Error::Kind::kUnsupported) return std::move(allowed).error();
  return allowed.error().message;
}

base::Status Manager::change_network(const Session& known, const NetworkWish& network) {
  // With the box as it is, and not as another change or a start leaves it meanwhile.
  const auto lock = lock_of(known.id);
  const std::lock_guard one_at_a_time(*lock);
  Session session = TRY(find(known.principal_id, known.id));
  if (session.status == SessionStatus::kDestroyed) return deleted();
  session.network = TRY(choose(network, config_.network));
  SessionNetworks::Network wanted = TRY(networks_.network_of(session));
  const auto box = sandbox_.look_at(session.id);
  if (!box.ok() && box.error().kind != Error::Kind::kNotFound) return box.error();
  const std::string rules = sandbox::wire::print_json(sandbox::rules_to_json(wanted.hosts));
  if (box.ok()) {
    TRY(box.value()->set_network(
        {std::move(wanted.hosts), std::move(wanted.credentials), std::move(wanted.denied)}));
  }
  TRY(store_.set_network(session.id, session.network));
  TRY(store_.add_audit({base::now_ms(), session.principal_id, session.id, "network_changed",
                        "{\"rules\":" + rules + "}"}));
  if (!box.ok()) return base::done();
  const auto status = TRY(box.value()->status());
  return store_.set_isolation(session.id, status.isolation);
}

base::Status Manager::restart(const Session& session) {
  const auto box = sandbox_.look_at(session.id);
  if (!box.ok() && box.error().kind == Error::Kind::kNotFound) return base::done();
  return TRY(box)->shutdown_if_idle("whoever runs hutch has started the session anew");
}

}  // namespace sessions
