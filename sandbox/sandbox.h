// Running code nobody trusts: the public face of this layer.
//
// A Sandbox starts boxes and finds those that are running; a Box is a client of one of them (its
// process, hutch-box, outlives us). Both are interfaces so that the layers above are tested with
// fakes; make_sandbox() gives the real one. All functions may be called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box_spec.h"
#include "sandbox/isolation.h"
#include "sandbox/run.h"
#include "sandbox/run_input.h"
#include "sandbox/session_lock.h"
#include "sandbox/unfinished_uploads.h"

namespace sandbox {

// A BoxUsage says what a box uses now; 0: nobody counts it on this host.
struct BoxUsage {
  std::int64_t memory_bytes = 0;  // with cache_bytes
  std::int64_t cache_bytes = 0;
  std::int64_t processor_time_us = 0;  // since it was started
  std::int64_t disk_bytes = 0;         // at the last look
};

struct BoxStatus {
  bool paused = false;
  bool paused_on_request = false;  // by a client, or at the end of its time; not for being idle
  bool is_storing = false;         // it is paused, and what it knows is on its way to the disk
  std::string held_by = {};        // why a paused one keeps its processes; empty where nobody knows
  bool attached = true;            // some server uses it, and does not only look
  std::vector<Run> active;         // queued and running, oldest first; without their results
  Isolation isolation;
  BoxUsage usage;
  std::map<std::string, RunContext> contexts = {};  // that runs have named, and nobody has ended
};

struct WaitOptions {
  // Says to return as soon as there is output beyond these offsets, not only at the end of the run.
  bool until_output = false;
  std::int64_t stdout_offset = 0;  // bytes of the stream
  std::int64_t stderr_offset = 0;
  std::chrono::milliseconds timeout{0};
  bool wakes = false;  // a use of the session: what is paused goes on
};

class Box {
 public:
  static constexpr std::chrono::milliseconds kShutdownPatience{30'000};

  virtual ~Box() = default;

  // Accepting is not starting: runs of one language queue. Submitting a run_id again is harmless.
  virtual base::Status submit(const RunRequest& request) = 0;

  // Returns the run as it is when it has ended, when there is output, or when time is up. kNotFound
  // when this box never had it, kUnavailable when the box has ended or `stop` was requested.
  virtual base::Result<Run> wait(const std::string& run_id, const WaitOptions& options,
                                 std::stop_token stop) = 0;
  virtual base::Status cancel(const std::string& run_id) = 0;
  // Returns what writes to the standard input of a run that was started with one; kInvalid for any
  // other run. kNotFound: nobody reads it.
  virtual base::Result<RunInput> input_of(const std::string& run_id) = 0;
  // Ends the standard input of a run where it is; kInvalid for that of a terminal.
  virtual base::Status end_input(const std::string& run_id) = 0;
  // Cancels its runs, and ends the interpreter of a context. kNotFound: there is no such context.
  virtual base::Status end_context(const std::string& context) = 0;
  virtual base::Result<BoxStatus> status() = 0;
  virtual base::Status pause() = 0;
  virtual base::Status resume() = 0;

  // Says that somebody uses what runs in it: it is not idle. One that a client has paused stays so.
  virtual base::Status keep_awake() = 0;

  // Its session was a spare one and is somebody's: what was started for whom it may concern, and is
  // not used, ends soon.
  virtual base::Status taken() = 0;

  // Its session is one without a name, of a connection that has ended, or ends with this server:
  // without a server it ends after some seconds, and not after the server's detach time.
  virtual base::Status end_with_connection() = 0;

  // Adds `rules` to what its session may reach from now on, or takes them back. kUnsupported, with
  // the reason: this box cannot, and the next one will.
  virtual base::Status allow(const std::vector<NetworkRule>& rules, bool take_back) = 0;
  // From now on it reaches what this says, in place of all before. Where it is refused, nothing has
  // changed. kUnsupported: its processes would have to start anew for that.
  virtual base::Status set_network(const BoxNetwork& network) = 0;

  // Takes room for a file that is to be written from outside, until disk_written() and the box has
  // counted it. kLimit when the session's disk_mb do not leave so much. Where a quota holds the
  // disk, it answers for itself.
  virtual base::Status take_disk_room(std::int64_t bytes, RoomFor what) = 0;
  // Tells the box that a file that took so much room is written, or will not be, and waits for no
  // answer: a box that has ended needs not know it.
  virtual void disk_written(std::int64_t bytes) = 0;

  // Returns an O_PATH descriptor of the directory that the code in the box sees as "/".
  virtual base::Result<base::UniqueFd> root() = 0;

  // Returns a socket, not blocking, that is connected to a TCP port of the box, or about to be
  // where who listens has no room. kNotFound: nothing listens there.
  virtual base::Result<base::UniqueFd> connect(std::uint16_t port) = 0;

  // Sets how long its session goes on, whatever becomes of the wall clock. `pauses`: then it is
  // paused, and else it ends with its files.
  virtual base::Status set_lifetime(std::int64_t ends_in_ms, bool pauses) = 0;

  // Ends every process of the box, once what the session knows is stored where no run is on.
  // Returns when that has happened and all runs are recorded. `why` fits behind "because": the
  // session's next run is told what has ended. kConflict: after `patience` it is still storing, and
  // goes on.
  virtual base::Status shutdown(const std::string& why, std::chrono::milliseconds patience) = 0;
  // Ends the box of a session that is to have less than it has: as shutdown(), but its network is
  // cut and its runs end at once.
  virtual base::Status shutdown_revoked(const std::string& why) = 0;
  // Ends the box of a session that is deleted: as shutdown(), but its runs are told that its files
  // are lost, too.
  virtual base::Status shutdown_for_good() = 0;
  // Ends the box as shutdown() does, unless runs are in progress: kConflict. The session's next run
  // is told why.
  virtual base::Status shutdown_if_idle(const std::string& why) = 0;

  // Returns whether its process ends with the service that this one is, as that ends whole cgroups.
  [[nodiscard]] virtual bool ends_with_service() = 0;
};

class Sandbox {
 public:
  virtual ~Sandbox() = default;

  // Returns the running box of a session, from whichever server it came. kNotFound when there is
  // none.
  virtual base::Result<std::shared_ptr<Box>> find(const std::string& session_id) = 0;

  // Returns the box as find() does, but only to look: does not keep it from ending when no server
  // uses it.
  virtual base::Result<std::shared_ptr<Box>> look_at(const std::string& session_id) = 0;

  // Returns what the running box of a session says of itself. A box that has not answered within
  // `patience` is left alone, and the Error is kUnavailable.
  virtual base::Result<BoxStatus> glance_at(const std::string& session_id,
                                            std::chrono::milliseconds patience) = 0;

  // Waits until boxes with this environment, or with none, start as fast as they will here: seconds
  // at most, after the first time one. Or until `stop`.
  virtual void wait_until_warm(const std::string& environment_directory,
                               const std::stop_token& stop) = 0;

  // Starts one, which shares the lock on the session's directory from its first moment.
  virtual base::Result<std::shared_ptr<Box>> start(const BoxSpec& spec,
                                                   const SessionLock& lock) = 0;

  // It is to be called from time to time, and gives back what boxes have not needed for a while.
  virtual void rest() = 0;

  // This server needs the box no more: closes its connections to it.
  virtual void let_go(const std::string& session_id) = 0;

  // Removes what a dead box may have left behind on the host: socket, cgroups, processes. For who
  // holds the lock, which says that it is dead.
  virtual void sweep(const std::string& session_id, const std::string& session_directory,
                     const SessionLock& lock) = 0;

  // Returns true while the session has an owner: a box, also one that does not answer, or a server
  // that starts or sweeps one.
  virtual bool is_alive(const std::string& session_directory) = 0;

  // Calls when the process of a box that find() or start() has given has ended, however. From one
  // thread of its own; an empty function ends that, and no call is on when this returns.
  virtual void tell_ends(std::function<void(const std::string& session_id)> ended) = 0;
};

struct SandboxConfig {
  std::string sessions_directory;  // holds each session's directory, under its id
  std::string program_directory;   // hutch-box and hutch-init
  std::string data_directory;      // runners and profiles
  std::int64_t detach_seconds = 60;
  // A zygote makes new sessions quick: a Python that has imported much, and forks itself into
  // boxes.
  enum class Zygote { kOff, kUse, kStart };  // kUse: where another server has started it
  Zygote zygote = Zygote::kOff;
  std::string zygote_directory;           // for its socket, lock and log; ours alone, exists
  std::chrono::seconds zygote_rest{600};  // unused for so long it ends, unless it was the last used
  std::string egress_directory;           // for the socket, lock and log of hutch-egress; exists
  // Most sessions will have this environment, so its zygote is started ahead; empty: the host's
  // packages.
  std::string usual_environment;
};

// `start` fills program, data, zygote and egress directory of a BoxSpec from the config.
std::unique_ptr<Sandbox> make_sandbox(SandboxConfig config);

}  // namespace sandbox
