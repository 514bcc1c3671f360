// Ending runs before they end by themselves: deadlines, cancel, limits, a lost box.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "base/shortened_text.h"
#include "base/text.h"
#include "sandbox/box/remarks.h"
#include "sandbox/box/run_processes.h"
#include "sandbox/box/runs.h"

namespace sandbox::box {
namespace {

using std::chrono::milliseconds;

// After the interrupt of the interpreter: when its children are interrupted too (os.system() waits
// for its child with SIGINT ignored), and when everything is killed.
constexpr milliseconds kInterruptGroupAfter{500};
constexpr milliseconds kKillAfter{1500};
// A fork bomb takes the CPU from everything else for as long as it is asked politely.
constexpr milliseconds kKillBombAfter{1000};

// A run that finds the process table full waits for room: what was killed may still be dying, then
// what was left behind is ended for it, then the interpreters; and in all.
constexpr int kAttemptsWithLeftBehind = 2;
constexpr int kAttemptsWithInterpreters = 8;
constexpr int kStartAttemptsMax = 40;
constexpr milliseconds kStartPause{50};
constexpr milliseconds kWakingLook{250};
constexpr milliseconds kWakingMost{60'000};

// Since the last run began. A program may stop itself, to be told to go on.
constexpr int kStopsMax = 20;

// Ending these takes what the run has started, too: it is what uses up the limit.
bool is_limit(Cause cause) {
  return cause == Cause::kPids || cause == Cause::kDisk || cause == Cause::kOutput ||
         cause == Cause::kOom;
}

std::string because_of_memory(const Limits& limits) {
  return " because the session's " + std::to_string(limits.memory_mb) +
         " MB (limits.memory_mb) were used up";
}

std::int64_t steady_ms() {
  return std::chrono::duration_cast<milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void Runs::stop(Job& job, Cause cause) {
  if (job.stop_cause || job.run.status != RunStatus::kRunning) return;
  if (job.worker == nullptr && cause == Cause::kPids) return;  // not its fault: it waits for room
  job.stop_cause = cause;
  if (job.worker == nullptr) return;  // room is being made for it: then it ends without a start
  context_.loop.cancel(job.deadline);
  job.unfinished = {files_being_written(context_.init, job.worker->pid(), file_changes_.device()),
                    FileChanges::file_time_ns()};
  // One that has not begun has nothing to lose, and would tell of the interrupt as a crash.
  if (!job.worker->began()) {
    tell_who_is_read(job);
    return job.worker->kill_group();
  }
  // A process of its own has nothing to save but what it saves on SIGINT; its children matter more.
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
void Runs::interrupt_children(Job& job) {
  job.group_interrupted = true;
  if (!job.worker->is_interrupted_by_frame()) return job.worker->interrupt_group();
  interrupt_processes_since(context_.init, job.worker->pid(), job.started_process_time);
}

// One that is frozen cannot listen: the time that it has for that stands still, and does not begin
// anew each time that it is frozen.
void Runs::arm_escalation(Job& job, int step, std::int64_t left_ms) {
  job.escalation_step = step;
  job.escalation_held = frozen_;
  job.escalation_at_ms = frozen_ ? left_ms : steady_ms() + left_ms;
  if (frozen_) return;
  job.escalation =
      context_.loop.after(milliseconds(left_ms), [this, id = job.run.run_id] { escalate(id); });
}

void Runs::escalate(const std::string& run_id) {
  const auto found = jobs_.find(run_id);
  if (found == jobs_.end() || found->second->worker == nullptr) return;
  Job& job = *found->second;
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

// Nobody in the box can tell it to go on, so this does. Who stops it again and again would do the
// same to whatever starts next.
void Runs::process_stopped(pid_t pid) {
  if (frozen_) return;
  if (++stops_ <= kStopsMax) {
    context_.init.signal(pid, SIGCONT, wire::SignalTarget::kProcess);
    return;
  }
  stops_ = 0;
  end_processes();
  const std::string what =
      "a process of the session kept stopping the others: all were ended, " + fate_of_all();
  for (auto& [id, job] : jobs_) add_note(job->run, what);
  if (jobs_.empty()) tell_next(what);
}

void Runs::arm_deadline(Job& job, std::int64_t left_ms) {
  job.deadline_at_ms = steady_ms() + left_ms;
  job.deadline = context_.loop.after(milliseconds(left_ms), [this, id = job.run.run_id] {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return;
    found->second->deadline = 0;
    if (is_waking(*found->second)) return arm_deadline(*found->second, kWakingLook.count());
    stop(*found->second, Cause::kTimeout);
  });
}

// That it ends is not the snapshot's doing, unless reading that never ends.
void Runs::tell_who_is_read(const Job& job) {
  KeptState* const kept = job.own_worker ? nullptr : kept_state_of(interpreter_of_run(job.run));
  if (kept == nullptr || !kept->is_being_read()) return;
  is_waking(job) ? kept->was_not_given() : kept->is_not_waited_for();
}

// Its interpreter reads what was stored, which takes as long as its libraries take to load: that is
// no time of the run's.
bool Runs::is_waking(const Job& job) const {
  const KeptState* const kept =
      job.own_worker ? nullptr : kept_state_of(interpreter_of_run(job.run));
  const bool is_being_read = kept != nullptr && kept->is_being_read();
  return is_being_read && base::now_ms() - job.run.started_at_ms < kWakingMost.count();
}

std::int64_t Runs::left_ms(const Job& job) {
  if (job.deadline_held) return std::max<std::int64_t>(job.deadline_at_ms, 1);
  return job.deadline == 0 ? 0 : std::max<std::int64_t>(job.deadline_at_ms - steady_ms(), 1);
}

void Runs::set_frozen(bool frozen) {
  if (std::exchange(frozen_, frozen) == frozen) return;
  for (auto& [id, job] : jobs_) frozen ? hold_times(*job) : release_times(*job);
}

// Both keep what is left of them.
void Runs::hold_times(Job& job) {
  if (job.deadline != 0) {
    context_.loop.cancel(job.deadline);
    job.deadline_at_ms -= steady_ms();
    job.deadline_held = true;
  }
  if (job.escalation != 0) {
    context_.loop.cancel(job.escalation);
    job.escalation_at_ms -= steady_ms();
    job.escalation_held = true;
  }
}

void Runs::release_times(Job& job) {
  if (std::exchange(job.deadline_held, false)) {
    arm_deadline(job, std::max<std::int64_t>(job.deadline_at_ms, 1));
  }
  if (std::exchange(job.escalation_held, false)) {
    arm_escalation(job, job.escalation_step, std::max<std::int64_t>(job.escalation_at_ms, 1));
  }
}

void Runs::release() {
  if (!held_) return;
  held_ = false;
  for (const JobPointer& job : std::exchange(held_starts_, {})) try_again(job);
  for (const auto& [interpreter, slot] : slots_) start_next(interpreter);
}

void Runs::stop_all(Cause cause) {
  for (auto& [id, job] : jobs_) stop(*job, cause);
}

// Ends what a run has started that was stopped, or that has filled the process table.
void Runs::end_what_it_started(const Job& job) {
  const bool table_was_full = job.run.error && job.run.error->cause == Cause::kPids;
  if (job.worker == nullptr || !(job.stop_cause || table_was_full)) return;
  end_processes_since(context_.init, job.worker->pid(), job.started_process_time);
  if (table_was_full && job.run.language == Language::kPython) job.worker->reap_children();
}

std::set<pid_t> Runs::workers() const {
  std::set<pid_t> workers;
  for (const auto& [interpreter, slot] : slots_) {
    if (slot.worker) workers.insert(slot.worker->pid());
  }
  for (const auto& [id, job] : jobs_) {
    if (job->own_worker) workers.insert(job->own_worker->pid());
  }
  if (next_worker_) workers.insert(next_worker_->pid());
  return workers;
}

void Runs::end_left_behind() { end_all_processes_but(context_.init, workers()); }

// Processes that runs left behind, or zombies that an interpreter keeps, may hold every place in
// the process table: then a session that does nothing else gives them up for the run that is to
// start.
bool Runs::make_room(const JobPointer& job) {
  if (jobs_.size() > 1 || job->start_attempts == kStartAttemptsMax) return false;
  const int attempt = job->start_attempts++;
  if (attempt == kAttemptsWithLeftBehind) {
    end_left_behind();
    add_note(job->run,
             "processes that earlier runs left behind were ended to make room for this run");
  } else if (attempt == kAttemptsWithInterpreters) {
    lose_interpreters("ended to make room in the session's process table");
    end_processes();
    add_note(job->run,
             "the session's processes were ended to make room for this run: " + fate_of_all());
  }
  context_.loop.after(kStartPause, [this, job] { try_again(job); });
  return true;
}

void Runs::try_again(const JobPointer& job) {
  if (!jobs_.contains(job->run.run_id)) return;
  if (held_ && !job->stop_cause) return held_starts_.push_back(job);
  if (!job->stop_cause) return begin(job);
  end_without_process(job->run, *job->stop_cause, "stopped before it started");
  finish(job);
}

// The interpreter that comes says which of them are back.
std::string Runs::fate_of_variables(const Interpreter& interpreter) const {
  return has_state_of(interpreter)
             ? ": the next one begins with the variables that were last stored"
             : ": its variables are lost, files kept";
}

std::string Runs::fate_of_all() const {
  const bool some = std::any_of(context_.kept_states.begin(), context_.kept_states.end(),
                                [](const auto& state) { return state.second->has_snapshot(); });
  return some ? "variables lost but those that were stored" : "variables lost";
}

// Each language's next run hears it: no other may ever come.
void Runs::lose_interpreters(const std::string& why) {
  for (auto& [interpreter, slot] : slots_) {
    if (!slot.worker) continue;
    slot.loss = "the interpreter of " + std::string(name_of(interpreter.language)) + " was " + why +
                fate_of_variables(interpreter);
  }
}

void Runs::tell_what_was_lost(Job& job) {
  // Nobody may ever look at what it says.
  if (!job.request.in_place_of.empty())
    return add_note(job.run, "started anew in place of " + job.request.in_place_of);
  const std::string said = std::exchange(note_for_next_, "");
  waking_left_ -= std::min(said.size(), waking_left_ / 2);
  add_note(job.run, said);
  if (job.request.background) return;
  add_note(job.run, std::exchange(slots_[interpreter_of_run(job.run)].loss, ""));
  if (job.run.language == Language::kBash) tell_of_shell(job);
}

void Runs::tell_of_shell(Job& job) {
  if (context_.kept_shell == nullptr) return;
  const std::string lacks = context_.kept_shell->take_not_kept();
  if (lacks.empty()) return;
  const std::string said = "a new bash is as after its last run, but for: " + lacks;
  waking_left_ -= std::min(said.size(), waking_left_ / 2);
  add_note(job.run, said);
}

// The first language that wakes leaves their part to those that have not told anything yet. A later
// interpreter in the same box has all of it.
nlohmann::json Runs::with_short_waking(const Interpreter& interpreter, nlohmann::json done) {
  constexpr std::size_t kOfEachLeast = 100;
  Slot& slot = slots_[interpreter];
  std::size_t& left = waking_left_;
  if (std::exchange(slot.has_woken, true)) left = kWakingCharactersMost;
  std::size_t tell = 1;
  for (const auto& [language, kept] : context_.kept_states) {
    const auto found = slots_.find({language, ""});
    const bool has_told =
        language == interpreter.language ||
        (found != slots_.end() && found->second.worker != nullptr && !found->second.tells_waking);
    if (!has_told && kept->has_snapshot()) ++tell;
  }
  const std::size_t most = std::max(left / tell, kOfEachLeast);
  const std::string said = base::string_or(done, "of_state");
  const std::string note = base::string_or(done, "note");
  if (said.empty() || !note.starts_with(said)) return done;
  std::string shown = said;
  if (base::printed_characters(said) > most) {
    constexpr std::string_view kMore = "...";
    shown = said.substr(0, base::printed_prefix(said, most - kMore.size()));
    shown += kMore;
  }
  left -= std::min(left, base::printed_characters(shown));
  done["note"] = shown + note.substr(said.size());
  return done;
}

void Runs::end_processes() {
  for (auto& [interpreter, slot] : slots_) slot.ended_by_us = slot.worker != nullptr;
  context_.init.signal_all(SIGKILL);
}

// Something else has killed it, or code that it still ran: without a word, the next run would find
// its variables gone and be told that they were kept.
void Runs::tell_of_idle_end(const Interpreter& interpreter, int wait_status) {
  const std::int64_t oom_kills = context_.oom_kills();
  std::string how = "was ended";
  if (WIFEXITED(wait_status)) {
    how = "exited with code " + std::to_string(WEXITSTATUS(wait_status));
  } else if (oom_kills > std::exchange(oom_kills_told_, oom_kills)) {
    how = "was killed" + because_of_memory(context_.spec.limits);
  } else if (WIFSIGNALED(wait_status)) {
    how = "was killed by signal " + std::to_string(WTERMSIG(wait_status));
  }
  const std::string what = "the interpreter of " + std::string(name_of(interpreter.language)) +
                           " " + how + " while it ran nothing" + fate_of_variables(interpreter);
  bool told = false;
  for (auto& [id, job] : jobs_) {
    if (job->run.status != RunStatus::kRunning) continue;
    add_note(job->run, what);
    told = told || !job->request.background;  // whose result may be asked for late, or never
  }
  if (!told) tell_next(what);
}

void Runs::note_all(const std::string& what) {
  for (auto& [id, job] : jobs_) add_note(job->run, what);
}

void Runs::tell_next(const std::string& what) {
  if (note_for_next_.find(what) != std::string::npos) return;
  base::append_part(note_for_next_, what, "; ");
}

// A run whose processes are not ended may wait for one that was, for ever; but not where that was
// another run's, which has said so.
void Runs::stop_after_oom_kill() {
  if (std::exchange(oom_kills_explained_, context_.oom_kills()) >= context_.oom_kills()) return;
  std::vector<Job*> foreground;
  std::vector<Job*> background;
  for (auto& [id, job] : jobs_) {
    if (job->run.status != RunStatus::kRunning) continue;
    if (context_.oom_kills() <= job->oom_kills_before) continue;  // started since
    (job->request.background ? background : foreground).push_back(job.get());
  }
  if (foreground.empty() && background.size() == 1) foreground = background;
  if (foreground.empty() && background.empty() && oom_kills_told_ < context_.oom_kills()) {
    oom_kills_told_ = context_.oom_kills();
    tell_next("what an earlier run had left running, or a part of it, was killed" +
              because_of_memory(context_.spec.limits));
  }
  for (Job* job : foreground) stop(*job, Cause::kOom);
}

bool Runs::any_with_deadline(bool deadline) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [deadline](const auto& entry) {
    return (entry.second->request.timeout_seconds > 0) == deadline;
  });
}

void Runs::end_all(Cause cause, const std::string& why) {
  closed_ = true;
  for (auto& [interpreter, slot] : slots_) slot.queue.clear();
  while (!jobs_.empty()) {
    const JobPointer job = jobs_.begin()->second;
    const bool oom = context_.oom_kills() > job->oom_kills_before;
    const Cause observed = oom && cause == Cause::kSandboxLost ? Cause::kOom : cause;
    end_without_process(job->run, job->stop_cause.value_or(observed), why);
    job->run.error->lost = "the sandbox ended: variables and processes lost";
    job->starts_anew = job->request.restarts_on_wake && !job->stop_cause && !files_end_too_;
    if (job->starts_anew) add_note(job->run, "it starts anew when the session wakes (on_wake)");
    if (files_end_too_) {
      job->run.error->survived = "";
      job->run.error->lost = "the session has ended: files, variables and processes lost";
    }
    finish(job);
  }
}

}  // namespace sandbox::box
