// Tells and ends what the runs of a box have left running. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sandbox/box/init_process.h"
#include "sandbox/box/job.h"
#include "sandbox/box/run_processes.h"

namespace sandbox::box {

class LeftBehind {
 public:
  // Both are borrowed.
  LeftBehind(InitProcess& init, const Freeze& freeze) : init_(init), freeze_(freeze) {}

  // Returns what `job`, which is about to end, has left running, each process the first time that
  // it is seen. `workers` are the pids of interpreters inside the box.
  [[nodiscard]] LeftRunning look_behind(const Job& job, std::set<pid_t> workers);
  // Takes all that is there now, but for `workers`, as what earlier runs have left.
  void remember_all_but(const std::set<pid_t>& workers);
  // An interpreter has this pid now, which a session of earlier runs may have had.
  void forget(pid_t pid) { sessions_.erase(pid); }

  // Ends what earlier runs have left where it has `least` processes and threads, and more than the
  // runs that are on; `began` has their interpreters, and when each run began (process_clock()).
  // Returns whether it did.
  bool end_where_most(std::int64_t least, std::set<pid_t> workers,
                      std::map<pid_t, std::int64_t> began);
  void end_all_but(const std::set<pid_t>& workers) { end_all_processes_but(init_, workers); }

 private:
  void remember(const std::set<pid_t>& sessions);

  InitProcess& init_;
  const Freeze& freeze_;
  std::set<std::pair<std::int64_t, pid_t>> told_;  // the newest: when it began, and its pid
  std::set<pid_t> sessions_;                       // in which earlier runs have left something
};

}  // namespace sandbox::box
