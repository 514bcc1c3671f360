// Tells how a run ended from what was observed. Pure: no kernel, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "sandbox/box/disk_room.h"
#include "sandbox/limits.h"
#include "sandbox/run.h"

namespace sandbox::box {

struct Observed {
  std::optional<Cause> stop_cause;  // the box was ending it, for this reason
  bool children_interrupted =
      false;                     // its child processes were too: what it made of that is no success
  bool own_process = false;      // a process of its own: no variables to keep or lose
  bool bash_state_kept = false;  // bash has written down what it keeps from run to run
  bool out_of_memory = false;    // the kernel killed something of the session meanwhile
  std::int64_t memory_peak_bytes = 0;  // the session's, so far; 0: not known
  bool disk_used_up = false;           // the quota refuses writes, or the file system has no room
  bool forks_refused = false;          // the process limit said no meanwhile, or was seen reached
  DiskLimit disk_limit = DiskLimit::kRoomOfHost;  // that it was stopped for
  std::string last_words;                         // the end of standard error
  Limits limits;                                  // the session's
  std::int64_t timeout_seconds = 0;               // as its request has it
  std::int64_t most_seconds = 0;                  // as its request has it
  bool background = false;
  bool variables_stored = false;  // the next interpreter of this kind begins with them
  std::string stored_run_id;      // the last that these have; empty: it is not known
  std::string kept_elsewhere;     // by the session's other interpreters: ", tables of SQL kept"
};

// Ends a run whose runner said "done": the interpreter lives. `done` is hostile.
void end_by_message(Run& run, const nlohmann::json& done, const Observed& observed);

// Ends a run whose process has ended; `wait_status` is as wait(2) gives it.
void end_by_exit(Run& run, int wait_status, const Observed& observed);

// Ends a run whose process could not be started.
void end_without_start(Run& run, const base::Error& why);

// Ends a run that the box could not go on with: it was cancelled in the queue, or the box is lost.
void end_without_process(Run& run, Cause cause, const std::string& message);

}  // namespace sandbox::box
