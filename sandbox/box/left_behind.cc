#include "sandbox/box/left_behind.h"

#include <cstddef>
#include <optional>

namespace sandbox::box {

// The runner of Python tells of its children, and waits for them; what they in turn have left
// behind is init's, as is all that bash leaves.
LeftRunning LeftBehind::look_behind(const Job& job, std::set<pid_t> workers) {
  LeftSince since{job.started_process_time, std::move(workers), std::nullopt, std::nullopt};
  if (interpreter_of(job.run.language) == Language::kJavaScript) since.waiting = job.worker->pid();
  if (job.had_company) since.session = job.worker->pid();  // others leave something, too
  // The clock of processes is coarse: what a run has left may have begun at the next one's time.
  constexpr std::size_t kToldMax = 64;
  LeftProcesses processes = left_processes(init_, since);
  if (!processes.named.empty() && job.own_worker) remember({job.own_worker->pid()});
  LeftRunning left;
  for (LeftProcess& process : processes.named) {
    if (!told_.emplace(process.began, process.pids.front()).second) continue;
    if (told_.size() > kToldMax) told_.erase(told_.begin());
    left.processes.push_back({std::move(process.pids), std::move(process.command)});
  }
  if (!left.processes.empty()) left.more = static_cast<std::int64_t>(processes.more);
  return left;
}

void LeftBehind::remember_all_but(const std::set<pid_t>& workers) {
  remember(sessions_of_others(init_, workers));
}

bool LeftBehind::end_where_most(std::int64_t least, std::set<pid_t> workers,
                                std::map<pid_t, std::int64_t> began) {
  const RunsThatAreOn on{std::move(workers), std::move(began), sessions_};
  const LeftEnded left = end_left_where_most(init_, freeze_, on, least);
  remember(left.sessions);
  return left.ended;
}

void LeftBehind::remember(const std::set<pid_t>& sessions) {
  constexpr std::size_t kMost = 256;
  sessions_.insert(sessions.begin(), sessions.end());
  while (sessions_.size() > kMost) sessions_.erase(sessions_.begin());
}

}  // namespace sandbox::box
