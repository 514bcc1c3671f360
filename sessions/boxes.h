// Boxes of sessions: found where they live, and else started. Safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/sandbox.h"
#include "sandbox/session_lock.h"
#include "sessions/session.h"

namespace sessions {

class BoxGrants;
class BoxSpecs;
class FileOwners;
class NetworkJournals;
class RunLedger;
class SessionEnds;
class SessionRoom;
struct Ground;

class Boxes {
 public:
  // Services that starts of boxes need.
  struct Parts {
    RunLedger& ledger;
    NetworkJournals& journals;
    SessionEnds& ends;
    SessionRoom& room;
    BoxGrants& grants;
    FileOwners& owners;
    const BoxSpecs& specs;
  };
  Boxes(Ground& ground, const Parts& parts) : ground_(ground), parts_(parts) {}

  // Returns a live box for the session: the running one, or a new one.
  base::Result<std::shared_ptr<sandbox::Box>> box_of(const Session& session);
  // Calls with the session's box, which is `known` if the caller has just found it; again with a
  // new one when it turns out to have just died.
  base::Status with_live_box(const Session& session,
                             const std::function<base::Status(sandbox::Box&)>& call,
                             std::shared_ptr<sandbox::Box> known = nullptr);

  // Returns the box's root directory as seen by the code; starts the box when needed.
  base::Result<base::UniqueFd> root_of(const Session& session);
  // Returns the root directory of a live box to look at, which is no use of the session.
  // kNotFound when no box lives.
  base::Result<base::UniqueFd> look_at_root(const Session& session);
  // Returns a lock that is held by who changes files of the session on a client's behalf, from the
  // look at what is there to the end of the change.
  std::shared_ptr<std::mutex> lock_of_files(const Session& session);
  // Takes room for a file of so many bytes, before it is written there. kLimit: it would not fit.
  base::Status take_disk_room(const Session& session, std::int64_t bytes);

  // kNotFound: no box lives. It does not stay for whoever asks.
  base::Result<sandbox::BoxStatus> live_status(const Session& session);
  // Marks the session as in use, though no run says so.
  void keep_awake(const Session& session);
  base::Status end_context(const Session& session, const std::string& context);
  // Returns a connection to a server in a session whose box lives: see Box::connect().
  base::Result<base::UniqueFd> connect(const Session& session, std::uint16_t port);
  // Ends the session's processes, unless something is in progress: kConflict.
  base::Status restart(const Session& session);

 private:
  base::Result<std::shared_ptr<sandbox::Box>> find_or_start(const Session& session);
  base::Result<std::shared_ptr<sandbox::Box>> start(const Session& known,
                                                    const sandbox::SessionLock& lock);
  // Starts a box of that spec, which counts among its principal's from before.
  base::Result<std::shared_ptr<sandbox::Box>> start_counted(const Session& session,
                                                            const sandbox::BoxSpec& spec,
                                                            const sandbox::SessionLock& lock);

  Ground& ground_;
  const Parts parts_;
};

}  // namespace sessions
