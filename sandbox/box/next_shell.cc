// Bash is a process per run, and most of what a short run costs is its start. So once a session
// uses bash, the shell of the next run is started when one has ended: it has loaded the state, and
// waits for the code.
#include <utility>

#include "sandbox/box/bash_state.h"
#include "sandbox/box/runs.h"

namespace sandbox::box {
namespace {

constexpr std::chrono::seconds kNextShellMost{60};  // unused, it is a megabyte for nothing
constexpr std::int64_t kNextShellPidsMin = 32;      // of whose limit it takes one

}  // namespace

void Runs::prepare_next_worker() {
  const Slot& slot = slots_[Language::kBash];
  if (next_worker_ || slot.current || held_ || closed_) return;
  if (context_.spec.limits.processes < kNextShellPidsMin) return;
  next_worker_state_ = bash_state_number(context_.init.root_fd());
  Job nobodys;
  nobodys.run.language = Language::kBash;
  auto worker = start_worker(nobodys, For::kNextRun);
  if (!worker.ok()) return;  // the run will find out why
  next_worker_ = std::move(worker).value();
  next_worker_end_ = context_.loop.after(kNextShellMost, [this] {
    next_worker_end_ = 0;
    drop_next_worker();
  });
}

std::unique_ptr<Worker> Runs::take_next_worker(const Job& job) {
  if (!next_worker_ || job.run.language != Language::kBash || job.request.background) {
    return nullptr;
  }
  const bool fits = !job.request.restart && job.request.env.empty() &&
                    job.bash_state_before == next_worker_state_;
  if (!fits || !next_worker_->give_code(job.request.code).ok()) {
    drop_next_worker();
    return nullptr;
  }
  context_.loop.cancel(next_worker_end_);
  return std::move(next_worker_);
}

void Runs::drop_next_worker() {
  context_.loop.cancel(next_worker_end_);
  if (!next_worker_) return;
  next_worker_->kill_group();
  retire(std::move(next_worker_));
}

bool Runs::next_worker_exited(pid_t pid) {
  if (!next_worker_ || next_worker_->pid() != pid) return false;
  drop_next_worker();
  return true;
}

}  // namespace sandbox::box
