// RunWorkers starts the processes of runs: an interpreter for many, a process for one. Used from
// the loop's thread.
#pragma once

#include <memory>

#include "base/result.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/init_process.h"
#include "sandbox/box/job.h"
#include "sandbox/box/kept_state.h"
#include "sandbox/box/profiles.h"
#include "sandbox/box/worker.h"
#include "sandbox/box_spec.h"

namespace sandbox::box {

class RunWorkers {
 public:
  enum class For { kManyRuns, kOneRun, kNextRun };

  // They outlive this.
  RunWorkers(EventLoop& loop, InitProcess& init, const BoxSpec& spec)
      : loop_(loop),
        init_(init),
        spec_(spec),
        profiles_(spec.data_directory, spec.environment_directory) {}

  // Fails with kUnsupported when the host has no such interpreter.
  base::Result<Profile> profile_of(Language language) { return profiles_.of(language); }

  struct Started {
    std::unique_ptr<Worker> worker;
    bool reads_state = false;  // a snapshot of `kept` was given to it
  };
  // Starts the process of `job`, or of all that come after it. `kept`, of an interpreter for many:
  // what stores its state, or null.
  base::Result<Started> start(const Job& job, For whom, KeptState* kept, Worker::Events events);

  // Destroys a worker in the loop's next turn: often this is called from one of its own callbacks,
  // which it must outlive. It is not listened to any more.
  static void retire(EventLoop& loop, std::unique_ptr<Worker> worker);

 private:
  EventLoop& loop_;
  InitProcess& init_;
  const BoxSpec& spec_;
  Profiles profiles_;
};

}  // namespace sandbox::box
