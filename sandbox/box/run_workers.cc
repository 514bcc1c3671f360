// The processes of runs: an interpreter for many, a process for one.
//
// Bash is a process per run, and most of what a short run costs is its start. So once a session
// uses bash, the shell of the next run is started when one has ended: it has loaded the state, and
// waits for the code.
#include <algorithm>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "sandbox/box/bash_state.h"
#include "sandbox/box/run_environment.h"
#include "sandbox/box/runs.h"

namespace sandbox::box {
namespace {

constexpr std::chrono::seconds kNextShellMost{60};  // unused, it is a megabyte for nothing
constexpr std::int64_t kNextShellPidsMin = 32;      // of whose limit it takes one

}  // namespace

base::Result<std::unique_ptr<Worker>> Runs::start_worker(const Job& job, For whom) {
  const bool own = whom != For::kManyRuns;
  Worker::Start start;
  start.profile = TRY(profiles_.of(job.run.language));
  start.environment = environment_of(context_.spec, start.profile, job, own);
  if (start.profile.process == Profile::Process::kPerRun) start.code = &job.request.code;
  start.owner = context_.spec.host_uid;
  if (!own) start.runs = StreamReader::Runs::kMany;
  if (whom == For::kNextRun) {
    start.code = nullptr;
    start.code_follows = true;
    start.extra_arguments = {"--ahead"};
  }
  if (start.code != nullptr && job.request.background) start.extra_arguments = {"--background"};
  if (start.code != nullptr && job.request.restart) start.extra_arguments = {"--restart"};
  const std::string key = own ? job.run.run_id : name_of(interpreter_of(job.run.language));
  Worker::Events events;
  events.message = [this, key](const json& message, const std::string& blob) {
    on_message(key, message, blob);
  };
  events.broken = [this, key](const std::string& why) {
    if (const JobPointer current = job_of_worker(key))
      add_note(current->run, "interpreter: " + why);
  };
  return Worker::start(context_.loop, context_.init, start, std::move(events));
}

void Runs::retire(std::unique_ptr<Worker> worker) {
  if (!worker) return;
  // The next run of this language has another worker, and is answered by that one only.
  worker->stop_listening();
  // Often called from one of its own callbacks: it must outlive them.
  context_.loop.after(std::chrono::milliseconds(0),
                      [keep = std::shared_ptr<Worker>(std::move(worker))] {});
}

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

std::size_t Runs::interpreters() const {
  return static_cast<std::size_t>(
             std::count_if(slots_.begin(), slots_.end(),
                           [](const auto& slot) { return slot.second.worker != nullptr; })) +
         (next_worker_ ? 1 : 0);
}

}  // namespace sandbox::box
