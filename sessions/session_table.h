// Rows of sessions: made, found, changed. Safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sessions/host_uids.h"
#include "sessions/session.h"

namespace sessions {

struct StoreFile;

// SessionBounds are the bounds of a principal.
struct SessionBounds {
  std::int64_t sessions_max = 0;  // that have a box, or are about to
  std::int64_t kept_max = std::numeric_limits<std::int64_t>::max();  // not destroyed
  // NOLINTNEXTLINE(google-explicit-constructor): most often it is all that counts.
  SessionBounds(std::int64_t sessions, std::int64_t kept = std::numeric_limits<std::int64_t>::max())
      : sessions_max(sessions), kept_max(kept) {}
};

class SessionTable {
 public:
  explicit SessionTable(StoreFile& file) : file_(file) {}

  // Returns it with what was allocated. kConflict when the name is taken, kLimit when the principal
  // has as many already.
  base::Result<Session> create(Session session, const std::optional<HostUidRange>& ids,
                               const SessionBounds& bounds);
  // Finds by id or, among those not destroyed, by name. kNotFound, the same for foreign and
  // unknown.
  base::Result<Session> find(const std::string& principal_id, const std::string& id_or_name);
  // Finds a session that is not destroyed, of any principal. kNotFound.
  base::Result<Session> find_of_any(const std::string& id);
  // Returns whether it is known and not destroyed.
  base::Result<bool> is_live(const std::string& id);
  // Returns whether it is known, destroyed or not.
  base::Result<bool> is_on_record(const std::string& id);
  // Returns whether it has a run that has not ended, whose end nobody has read, or whose end
  // somebody came back to read within the last hour; something shared, or granted.
  base::Result<bool> has_traces(const std::string& id, std::int64_t now);

  // Changes nothing once a session is destroyed. Returns false when it was not applied. `why` is
  // for the audit, where it is not empty.
  base::Result<bool> set_status(const std::string& id, SessionStatus status,
                                const std::string& why);
  base::Status set_isolation(const std::string& id, const sandbox::Isolation& isolation);
  // Sets the lifetime in seconds since the session was made.
  base::Status set_lifetime(const std::string& id, std::int64_t seconds);
  base::Status set_network(const std::string& id, const std::optional<NetworkChoice>& network);
  base::Status touch(const std::string& id, std::int64_t now);
  base::Status end_connection_of(const std::vector<std::string>& ids);
  // A session without a box is about to get one: it is provisioning from now on, and used. False
  // when it has one by its row. kLimit when the principal has as many already.
  base::Result<bool> claim_box(const Session& session, std::int64_t sessions_max, std::int64_t now);
  // It did not get it, and is as it was.
  base::Status unclaim_box(const Session& before);
  // Sessions whose id on the host is none of the range get one that is, where `may` says so: those
  // of a state directory that was copied or moved. Returns how many they were.
  base::Result<std::size_t> renew_host_uids(
      const HostUidRange& range, const std::function<bool(const std::string& session_id)>& may);

 private:
  base::Result<std::int64_t> unused_host_uid(const HostUidRange& range);

  StoreFile& file_;
};

}  // namespace sessions
