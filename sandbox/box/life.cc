#include "sandbox/box/life.h"

#include <algorithm>

#include "sandbox/limits.h"

namespace sandbox::box {
namespace {

using std::chrono::seconds;

// Time for another server to take over what nobody else will come for.
constexpr seconds kDetachWithConnection{5};
// Runs that a call may have waited for get this much longer: no run has a longer deadline.
constexpr seconds kFinishWithDeadline{kRunSecondsMax};
// Without a deadline it could last for ever; a server that is started again comes in less.
constexpr seconds kFinishWithoutDeadline{60};

std::string in_seconds(seconds time) { return std::to_string(time.count()) + " seconds"; }

}  // namespace

std::optional<std::string> reason_to_end(const Situation& situation) {
  if (situation.paused && *situation.paused >= situation.paused_max) {
    return "the session was paused for " + in_seconds(situation.paused_max);
  }
  if (situation.paused && situation.memory_is_scarce) return "the host's memory was nearly used up";
  const bool waits_paused =
      situation.paused && (situation.paused_on_request || !situation.ends_with_connection);
  if (!situation.alone || waits_paused) return std::nullopt;
  seconds patience = situation.detach;
  if (situation.ends_with_connection) patience = std::min(patience, kDetachWithConnection);
  if (situation.without_deadline) patience = std::max(situation.detach, kFinishWithoutDeadline);
  if (situation.with_deadline) patience = situation.detach + kFinishWithDeadline;
  if (*situation.alone < patience) return std::nullopt;
  return "no server has been connected to the session for " + in_seconds(patience);
}

}  // namespace sandbox::box
