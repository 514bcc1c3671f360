#include "sandbox/box/left_behind.h"

#include <cstddef>
#include <optional>

#include "base/text.h"

namespace sandbox::box {

// The runner of Python tells of its children, and waits for them; what they in turn have left
// behind is init's, as is all that bash leaves.
std::string LeftBehind::tell(const Job& job, std::set<pid_t> workers) {
  LeftSince since{job.started_process_time, std::move(workers), std::nullopt, std::nullopt};
  if (interpreter_of(job.run.language) == Language::kJavaScript) since.waiting = job.worker->pid();
  if (job.had_company) since.session = job.worker->pid();  // others leave something, too
  std::string told;
  // The clock of processes is coarse: what a run has left may have begun at the next one's time.
  constexpr std::size_t kToldMax = 64;
  const LeftProcesses left = left_processes(init_, since);
  if (!left.named.empty() && job.own_worker) remember({job.own_worker->pid()});
  bool has_many_pids = false;
  for (const auto& [pids, began, command] : left.named) {
    if (!told_.emplace(began, pids.front()).second) continue;
    if (told_.size() > kToldMax) told_.erase(told_.begin());
    std::string numbers;
    for (const pid_t pid : pids) base::append_part(numbers, std::to_string(pid), " ");
    base::append_part(told, command + (pids.size() > 1 ? " (pids " : " (pid ") + numbers + ")");
    has_many_pids = has_many_pids || pids.size() > 1;
  }
  if (told.empty()) return "";
  const std::string kill = has_many_pids ? "; kill with all its PIDs ends " : "; kill PID ends ";
  const std::string how = left.more == 0
                              ? kill + "it"
                              : ", and " + std::to_string(left.more) + " more" + kill +
                                    "one, kill -9 -1 in bash all, interpreters with their "
                                    "variables too";
  return "left running by this run: " + told + how;
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
