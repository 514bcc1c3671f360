// Ground is given to most services of this layer: the settings, the sandbox, and who owns which
// session's directory. Safe from any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "sandbox/sandbox.h"
#include "sandbox/session_lock.h"
#include "sessions/manager_config.h"
#include "sessions/named_locks.h"
#include "sessions/quotas_in_force.h"
#include "sessions/servers.h"
#include "sessions/session.h"

namespace sessions {

class SessionDirectory;

struct Ground {
  Ground(ManagerConfig settings, sandbox::Sandbox& boxes);

  [[nodiscard]] SessionDirectory files_of(const std::string& session_id) const;
  // Returns whether the session has an owner: a box, even one that does not answer, or a server
  // that starts one or clears up.
  [[nodiscard]] bool is_owned(const std::string& session_id) const;
  // Makes the session's directory and takes its lock. kConflict: it has an owner.
  [[nodiscard]] base::Result<sandbox::SessionLock> own(const std::string& session_id) const;
  // Does what own() does, but waits up to kEndPatience for an owner to end.
  [[nodiscard]] base::Result<sandbox::SessionLock> own_soon(const std::string& session_id) const;
  // Returns a new session with an id of its own, these limits, and defaults for the rest. Writes
  // nothing.
  [[nodiscard]] Session new_session(const std::string& principal_id,
                                    const sandbox::Limits& limits) const;
  // Reports the outcome of a start to Readiness, and a failure that is not the caller's as a
  // notice. Null: the box is up.
  void note_start(const Session& session, const base::Error* failure) const;

  const ManagerConfig config;
  sandbox::Sandbox& sandbox;
  QuotasInForce
      quotas;  // in force now, since a reload changes them; `config` has those of the start
  Servers servers;
  NamedLocks locks;
};

}  // namespace sessions
