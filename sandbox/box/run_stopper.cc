#include "sandbox/box/run_stopper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "sandbox/box/run_processes.h"

namespace sandbox::box {
namespace {

using std::chrono::milliseconds;

// After the interrupt of the interpreter: when its children are interrupted too (os.system() waits
// for its child with SIGINT ignored), and when everything is killed.
constexpr milliseconds kInterruptGroupAfter{500};
constexpr milliseconds kKillAfter{1500};
// A fork bomb takes the CPU from everything else for as long as it is asked politely.
constexpr milliseconds kKillBombAfter{1000};

constexpr milliseconds kWakingLook{250};
constexpr milliseconds kWakingMost{60'000};

bool filled_table(const Job& job) { return job.run.error && job.run.error->cause == Cause::kPids; }

std::int64_t steady_ms() {
  return std::chrono::duration_cast<milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void RunStopper::stop(Job& job, Cause cause) {
  if (job.stop_cause || job.run.status != RunStatus::kRunning) return;
  if (job.worker == nullptr && cause == Cause::kPids) return;  // not its fault: it waits for room
  job.stop_cause = cause;
  if (job.worker == nullptr) return;  // room is being made for it: then it ends without a start
  of_.loop.cancel(job.deadline);
  job.unfinished = {files_being_written(of_.init, job.worker->pid(), of_.files.device()),
                    FileChanges::file_time_ns()};
  // One that has not begun has nothing to lose, and would tell of the interrupt as a crash.
  if (!job.worker->began()) {
    tell_who_is_read(job);
    return job.worker->kill_group();
  }
  // A process of its own has nothing to save but what it saves on SIGINT; its children matter more.
  // Where a run met a limit, all that it has started ends with it: that is what uses it up.
  if (job.own_worker || is_limit(cause)) {
    job.worker->interrupt_group();
    job.group_asked = true;
    job.group_interrupted = is_limit(cause);
  }
  // The group's is the process's own, too: of two it would take the second while it tells of the
  // first.
  if (!job.group_asked || job.worker->is_interrupted_by_frame()) job.worker->interrupt();
  arm_escalation(job, 1, kInterruptGroupAfter.count());
}

// An interpreter that takes its interrupt as a frame would end by the signal that its group gets.
void RunStopper::interrupt_children(Job& job) {
  job.group_interrupted = true;
  if (!job.worker->is_interrupted_by_frame()) return job.worker->interrupt_group();
  interrupt_processes_since(of_.init, job.worker->pid(), job.started_process_time);
}

// One that is frozen cannot listen: the time that it has for that stands still, and does not begin
// anew each time that it is frozen.
void RunStopper::arm_escalation(Job& job, int step, std::int64_t left_ms) {
  job.escalation_step = step;
  job.escalation_held = frozen_;
  job.escalation_at_ms = frozen_ ? left_ms : steady_ms() + left_ms;
  if (frozen_) return;
  job.escalation =
      of_.loop.after(milliseconds(left_ms), [this, id = job.run.run_id] { escalate(id); });
}

void RunStopper::escalate(const std::string& run_id) {
  const std::shared_ptr<Job> found = of_.find(run_id);
  if (!found || found->worker == nullptr) return;
  Job& job = *found;
  job.escalation = 0;
  if (job.escalation_step == 1) {
    // A second interrupt would hit programs while they tell what the first one has cut off.
    if (job.group_asked && !job.worker->is_interrupted_by_frame()) {
      job.group_interrupted = true;
    } else {
      interrupt_children(job);
    }
    const milliseconds kill_after = job.stop_cause == Cause::kPids ? kKillBombAfter : kKillAfter;
    return arm_escalation(job, 2, (kill_after - kInterruptGroupAfter).count());
  }
  job.worker->kill_group();
}

void RunStopper::arm_deadline(Job& job, std::int64_t left_ms) {
  job.deadline_at_ms = steady_ms() + left_ms;
  job.deadline = of_.loop.after(milliseconds(left_ms), [this, id = job.run.run_id] {
    const std::shared_ptr<Job> found = of_.find(id);
    if (!found) return;
    found->deadline = 0;
    if (is_waking(*found)) return arm_deadline(*found, kWakingLook.count());
    stop(*found, Cause::kTimeout);
  });
}

void RunStopper::forget(Job& job) {
  of_.loop.cancel(job.deadline);
  of_.loop.cancel(job.escalation);
}

bool RunStopper::ends_what_it_started(const Job& job) {
  return job.stop_cause || filled_table(job);
}

void RunStopper::end_what_it_started(const Job& job) {
  if (job.worker == nullptr || !ends_what_it_started(job)) return;
  end_processes_since(of_.init, job.worker->pid(), job.started_process_time);
  if (filled_table(job) && job.run.language == Language::kPython) job.worker->reap_children();
}

// That it ends is not the snapshot's doing, unless reading that never ends.
void RunStopper::tell_who_is_read(const Job& job) const {
  KeptState* const kept = of_.interpreters.kept_state_of(job);
  if (kept == nullptr || !kept->is_being_read()) return;
  is_waking(job) ? kept->was_not_given() : kept->is_not_waited_for();
}

bool RunStopper::is_waking(const Job& job) const {
  const KeptState* const kept = of_.interpreters.kept_state_of(job);
  const bool is_being_read = kept != nullptr && kept->is_being_read();
  return is_being_read && base::now_ms() - job.run.started_at_ms < kWakingMost.count();
}

std::int64_t RunStopper::left_ms(const Job& job) {
  if (job.deadline_held) return std::max<std::int64_t>(job.deadline_at_ms, 1);
  return job.deadline == 0 ? 0 : std::max<std::int64_t>(job.deadline_at_ms - steady_ms(), 1);
}

// Both keep what is left of them.
void RunStopper::hold(Job& job) {
  if (job.deadline != 0) {
    of_.loop.cancel(job.deadline);
    job.deadline_at_ms -= steady_ms();
    job.deadline_held = true;
  }
  if (job.escalation != 0) {
    of_.loop.cancel(job.escalation);
    job.escalation_at_ms -= steady_ms();
    job.escalation_held = true;
  }
}

void RunStopper::go_on(Job& job) {
  if (std::exchange(job.deadline_held, false)) {
    arm_deadline(job, std::max<std::int64_t>(job.deadline_at_ms, 1));
  }
  if (std::exchange(job.escalation_held, false)) {
    arm_escalation(job, job.escalation_step, std::max<std::int64_t>(job.escalation_at_ms, 1));
  }
}

}  // namespace sandbox::box
