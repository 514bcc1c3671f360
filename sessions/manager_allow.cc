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
  if (session.status == "destroyed") return deleted();
  std::vector<NetworkRule> all = TRY(network_of(session)).hosts;
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
  const auto box = sandbox_.look_at(session.id);
  if (!box.ok()) {
    if (box.error().kind != Error::Kind::kNotFound) return std::move(box).error();
    return std::string("nothing of it runs now");
  }
  const auto allowed = box.value()->allow(rules, take_back);
  if (allowed.ok()) {
    const auto status = TRY(box.value()->status());
    TRY(store_.set_isolation(session.id, status.isolation));
    return std::string();
  }
  if (allowed.error().kind != Error::Kind::kUnsupported) return std::move(allowed).error();
  return allowed.error().message;
}

base::Status Manager::restart(const Session& session) {
  const auto box = sandbox_.look_at(session.id);
  if (!box.ok() && box.error().kind == Error::Kind::kNotFound) return base::done();
  return TRY(box)->shutdown_if_idle("whoever runs hutch has started the session anew");
}

}  // namespace sessions
