// The ground that all services of this layer stand on: the settings, the database, the sandbox, and
// who owns which session's directory. Safe from any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "sandbox/sandbox.h"
#include "sandbox/session_lock.h"
#include "sessions/manager_config.h"
#include "sessions/named_locks.h"
#include "sessions/quotas.h"
#include "sessions/servers.h"
#include "sessions/session.h"
#include "sessions/session_directory.h"

namespace sessions {

class Store;

struct Ground {
  Ground(ManagerConfig settings, Store& database, sandbox::Sandbox& boxes);

  [[nodiscard]] SessionDirectory files_of(const std::string& session_id) const {
    return {config.state_directory, session_id};
  }
  // Whether a box, also one that does not answer, or a server that starts or sweeps one has the
  // session.
  [[nodiscard]] bool is_owned(const std::string& session_id) const {
    return sandbox.is_alive(files_of(session_id).path());
  }
  // Makes the session's directory and takes its lock. kConflict: it has an owner.
  [[nodiscard]] base::Result<sandbox::SessionLock> own(const std::string& session_id) const;
  // As own(), and waits for an owner that is about to go.
  [[nodiscard]] base::Result<sandbox::SessionLock> own_soon(const std::string& session_id) const;
  // Returns the row of a session that is to be, as one that asks for nothing is.
  [[nodiscard]] Session new_session(const std::string& principal_id,
                                    const sandbox::Limits& limits) const;
  // Hears what has become of a box that somebody has tried to start; null: it has come up.
  void note_start(const Session& session, const base::Error* failure) const;

  const ManagerConfig config;
  Store& store;
  sandbox::Sandbox& sandbox;
  QuotasInForce quotas;  // those of config are the ones it was opened with
  Servers servers;
  NamedLocks locks;
};

}  // namespace sessions
