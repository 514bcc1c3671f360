// Ids that own the files of sessions on the host. Those of a state directory that was copied, moved
// or restored are the original's, and its sessions get others. Safe from any thread.
#pragma once

#include "base/result.h"
#include "sessions/session.h"

namespace sessions {

class AuditTable;
class SessionTable;
struct Ground;

class FileOwners {
 public:
  FileOwners(const Ground& ground, SessionTable& sessions, AuditTable& audit)
      : ground_(ground), sessions_(sessions), audit_(audit) {}

  // Gives each session that needs one another id. Rows alone, before anybody asks for a session:
  // files change owner when it is first started.
  base::Status renew();
  // Returns the session as it is, once its files are its own.
  base::Result<Session> with_own_files(Session session);

 private:
  base::Status give_to_session(int directory_fd, const char* name, const Session& session);

  const Ground& ground_;
  SessionTable& sessions_;
  AuditTable& audit_;
};

}  // namespace sessions
