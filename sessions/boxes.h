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
class Restarts;
class RunLedger;
class SessionEnds;
class SessionRoom;
class SessionTable;
struct Ground;

class Boxes {
 public:
  // Tables and services that starts of boxes need.
  struct Parts {
    SessionTable& sessions;
    RunLedger& ledger;
    NetworkJournals& journals;
    SessionEnds& ends;
    SessionRoom& room;
    BoxGrants& grants;
    FileOwners& owners;
    const BoxSpecs& specs;
    const Restarts& restarts;
  };
  Boxes(Ground& ground, const Parts& parts) : ground_(ground), parts_(parts) {}

  // Returns a live box for the session: the running one, or a new one.
  base::Result<std::shared_ptr<sandbox::Box>> box_of(const Session& session);
  // Calls `call` with the session's box: `known`, if the caller has just found it. Where the box
  // has died (kUnavailable), finds or starts another and calls again, at most twice more.
  base::Status with_live_box(const Session& session,
                             const std::function<base::Status(sandbox::Box&)>& call,
                             std::shared_ptr<sandbox::Box> known = nullptr);

  // Returns the box's root directory as seen by the code; starts the box when needed.
  base::Result<base::UniqueFd> root_of(const Session& session);
  // Does what root_of() does, but starts no box, and does not count as use of the session.
  // kNotFound: no box lives.
  base::Result<base::UniqueFd> look_at_root(const Session& session);
  // Returns the mutex for changes to this session's files. Hold it from reading what is there until
  // the change is written.
  std::shared_ptr<std::mutex> lock_of_files(const Session& session);
  // Reserves `bytes` of the session's disk limit for what is about to be written, until
  // disk_written(). kLimit: there is no room, even after a short wait.
  base::Status take_disk_room(const Session& session, std::int64_t bytes,
                              sandbox::RoomFor what = sandbox::RoomFor::kFile);
  // A file that took so much room is written, or will not be: the box counts it from now on.
  void disk_written(const Session& session, std::int64_t bytes);

  // Returns what the box says of itself, which asking does not keep alive. kNotFound: no box lives.
  base::Result<sandbox::BoxStatus> live_status(const Session& session);
  // Keeps the session from being paused as idle, as while a port of it is in use.
  void keep_awake(const Session& session);
  base::Status end_context(const Session& session, const std::string& context);
  // Returns a connection to a server in a session whose box lives: see Box::connect().
  base::Result<base::UniqueFd> connect(const Session& session, std::uint16_t port);
  // Ends the box, and the next use starts a new one. kConflict: runs are on, and nothing was ended.
  base::Status restart(const Session& session);

 private:
  base::Result<std::shared_ptr<sandbox::Box>> find_or_start(const Session& session);
  base::Result<std::shared_ptr<sandbox::Box>> start(const Session& known,
                                                    const sandbox::SessionLock& lock);
  // Counts the box against its principal's bound (SessionRoom::claim_box), then starts it.
  base::Result<std::shared_ptr<sandbox::Box>> start_counted(const Session& session,
                                                            const sandbox::BoxSpec& spec,
                                                            const sandbox::SessionLock& lock);

  Ground& ground_;
  const Parts parts_;
};

}  // namespace sessions
