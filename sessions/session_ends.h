// Ends sessions: deleted, over their time, or empty with nobody left who could want them. The row
// goes first, then processes and files. Safe from any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "sessions/session.h"

namespace sessions {

class BoxGrants;
class ConnectionSessions;
class NetworkJournals;
class PastTable;
class RunLedger;
class SessionTable;
class SpareTable;
class UpkeepTable;
struct Ground;

class SessionEnds {
 public:
  // Tables and services that know something of a session which ends with it.
  struct Parts {
    SessionTable& sessions;
    SpareTable& spares;
    UpkeepTable& upkeep;
    PastTable& past;
    RunLedger& ledger;
    NetworkJournals& journals;
    ConnectionSessions& connections;
    BoxGrants& grants;
  };
  SessionEnds(Ground& ground, const Parts& parts) : ground_(ground), parts_(parts) {}

  base::Status end(const Session& session, const std::string& why);
  // Ends a session, as end(), that nobody has asked to end: what fails, a later sweep does.
  void expire(const Session& session, const std::string& why);
  // Expires a session whose lifetime is over, where the clock may be believed; returns the error
  // for who asked for it.
  base::Error end_of_lifetime(const Session& session);
  // Deletes it, if nobody named it, nothing of it runs, and nothing in it is anybody's.
  bool delete_if_nothing(const Session& session, const std::string& why);
  // Returns whether its connection has ended, or it was never of one. A connection to a server
  // whose clients come back has ended when that is gone and none has used the session for a while.
  [[nodiscard]] bool is_left(const Session& session) const;
  // Ends and removes all that is left of a destroyed session on the host.
  base::Status bury(const Session& session);

 private:
  // Ends its box and removes its files, the directories too: of one that is being deleted.
  base::Status delete_files_of(const Session& session);
  void shut_down(const std::string& session_id);
  // Returns whether a session whose lock is held has nothing by its row, its runs and its files.
  bool has_nothing(const Session& known);

  Ground& ground_;
  const Parts parts_;
};

}  // namespace sessions
