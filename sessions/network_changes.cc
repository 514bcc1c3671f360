#include "sessions/network_changes.h"

#include <mutex>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "sandbox/box_spec.h"
#include "sessions/audit_table.h"
#include "sessions/ground.h"
#include "sessions/network_table.h"
#include "sessions/session_networks.h"
#include "sessions/session_table.h"

namespace sessions {

using base::Error;
using nlohmann::json;
using sandbox::NetworkRule;

base::Result<std::string> NetworkChanges::allow(const Session& known,
                                                const std::vector<NetworkRule>& rules,
                                                bool take_back) {
  const Session session = TRY(sessions_.find(known.principal_id, known.id));
  if (session.status == SessionStatus::kDestroyed) return deleted();
  std::vector<NetworkRule> all = TRY(networks_.network_of(session)).hosts;
  all.insert(all.end(), rules.begin(), rules.end());
  if (!take_back) TRY(sandbox::check_network_rules(all));
  const std::int64_t now = base::now_ms();
  for (const NetworkRule& rule : rules) {
    TRY(network_.set_grant(session.id, sandbox::text_of(rule), !take_back, now));
  }
  TRY(audit_.add({now, session.principal_id, session.id,
                  take_back ? "network_taken_back" : "network_allowed",
                  json{{"rules", sandbox::rules_to_json(rules)}}}));
  auto box = ground_.sandbox.look_at(session.id);
  if (!box.ok()) {
    if (box.error().kind != Error::Kind::kNotFound) return std::move(box).error();
    return std::string("nothing of it runs now");
  }
  auto allowed = box.value()->allow(rules, take_back);
  if (allowed.ok()) {
    const auto status = TRY(box.value()->status());
    TRY(sessions_.set_isolation(session.id, status.isolation));
    return std::string();
  }
  if (allowed.error().kind != Error::Kind::kUnsupported) return std::move(allowed).error();
  return allowed.error().message;
}

base::Status NetworkChanges::change(const Session& known, const NetworkWish& network) {
  // With the box as it is, and not as another change or a start leaves it meanwhile.
  const auto lock = ground_.locks.of(known.id);
  const std::lock_guard one_at_a_time(*lock);
  Session session = TRY(sessions_.find(known.principal_id, known.id));
  if (session.status == SessionStatus::kDestroyed) return deleted();
  session.network = TRY(choose(network, ground_.config.network));
  SessionNetworks::Network wanted = TRY(networks_.network_of(session));
  const auto box = ground_.sandbox.look_at(session.id);
  if (!box.ok() && box.error().kind != Error::Kind::kNotFound) return box.error();
  json detail = {{"rules", sandbox::rules_to_json(wanted.hosts)}};
  if (box.ok()) {
    TRY(box.value()->set_network(
        {std::move(wanted.hosts), std::move(wanted.credentials), std::move(wanted.denied)}));
  }
  TRY(sessions_.set_network(session.id, session.network));
  TRY(audit_.add(
      {base::now_ms(), session.principal_id, session.id, "network_changed", std::move(detail)}));
  if (!box.ok()) return base::done();
  const auto status = TRY(box.value()->status());
  return sessions_.set_isolation(session.id, status.isolation);
}

}  // namespace sessions
