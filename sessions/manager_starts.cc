// Starts of boxes tell how it stands with the host.
#include <utility>

#include "sessions/manager.h"

namespace sessions {

base::Result<std::shared_ptr<sandbox::Box>> Manager::note_start(
    const Session& session, base::Result<std::shared_ptr<sandbox::Box>> started) const {
  const base::Error* failure = started.ok() ? nullptr : &started.error();
  if (config_.readiness) config_.readiness->started(session.principal_id, failure);
  if (failure != nullptr && outcome_of(*failure) != Outcome::kCallersFault) {
    config_.notify({Notice::Level::kFailure, "a sandbox did not start: " + failure->message,
                    session.principal_id, session.id});
  }
  return started;
}

}  // namespace sessions
