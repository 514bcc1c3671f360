#include "sandbox/box/next_shell.h"

#include <chrono>
#include <utility>

#include "sandbox/box/bash_state.h"
#include "sandbox/box/run_environment.h"
#include "sandbox/box/run_workers.h"

namespace sandbox::box {
namespace {

// A server mostly waits for the end of a run, and is not to wait for the next shell, too.
constexpr std::chrono::milliseconds kTellingMost{10};

}  // namespace

void NextShell::prepare() {
  if (of_.kept_shell != nullptr) of_.kept_shell->store();
  if (worker_) return;
  const std::optional<std::string> directory = of_.may_start();
  if (!directory) return;
  state_ = bash_state_number(of_.root_fd);
  RunRequest next;
  next.directory = *directory;
  directory_ = start_directory_of(next);
  auto worker = of_.start(*directory);
  if (!worker.ok()) return;  // the run will find out why
  worker_ = std::move(worker).value();
  end_ = of_.loop.after(of_.unused_most, [this] {
    end_ = 0;
    drop();
  });
}

void NextShell::prepare_to_stay() {
  prepare();
  of_.loop.cancel(end_);
}

void NextShell::prepare_soon() {
  if (start_ != 0) return;
  start_ = of_.loop.after(kTellingMost, [this] {
    start_ = 0;
    prepare();
  });
}

void NextShell::end_was_told() {
  if (start_ == 0) return;
  of_.loop.cancel(start_);
  of_.loop.after(std::chrono::milliseconds(0), [this] { prepare(); });
}

bool NextShell::waits_for(const Job& job) const {
  return worker_ && job.run.language == Language::kBash && !job.request.background;
}

std::unique_ptr<Worker> NextShell::take(const Job& job) {
  if (!waits_for(job)) return nullptr;
  const bool fits = !job.request.restart && job.request.env.empty() &&
                    job.bash_state_before == state_ &&
                    start_directory_of(job.request) == directory_;
  if (!fits || !worker_->give_code(job.request.code).ok()) {
    drop();
    return nullptr;
  }
  of_.loop.cancel(end_);
  return std::move(worker_);
}

void NextShell::drop() {
  of_.loop.cancel(end_);
  if (!worker_) return;
  worker_->kill_group();
  RunWorkers::retire(of_.loop, std::move(worker_));
}

bool NextShell::exited(pid_t pid) {
  if (!worker_ || worker_->pid() != pid) return false;
  drop();
  return true;
}

}  // namespace sandbox::box
