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
#include "sandbox/box/remarks.h"
#include "sandbox/box/run_environment.h"
#include "sandbox/box/run_processes.h"
#include "sandbox/box/runs.h"

namespace sandbox::box {
namespace {

// Unused, a shell is a megabyte for nothing, and a node 40.
constexpr std::chrono::seconds kUnusedMost{60};
// Where sessions are made one after the other, none of them sits so long before it is taken: nobody
// starts a node for each.
constexpr std::chrono::milliseconds kAheadPause{500};
// A server mostly waits for the end of a run, and is not to wait for the next shell, too.
constexpr std::chrono::milliseconds kTellingMost{10};
constexpr std::int64_t kNextShellPidsMin = 32;  // of whose limit it takes one

}  // namespace

base::Result<std::unique_ptr<Worker>> Runs::start_worker(const Job& job, For whom) {
  const bool own = whom != For::kManyRuns;
  Worker::Start start;
  start.profile = TRY(profiles_.of(job.run.language));
  start.environment = environment_of(context_.spec, start.profile, job, own);
  start.directory = start_directory_of(job.request);
  if (start.profile.process == Profile::Process::kPerRun) start.code = &job.request.code;
  start.owner = context_.spec.host_uid;
  start.root_fd = context_.init.root_fd();
  if (whom == For::kOneRun) {
    start.input = job.request.input;
    start.terminal = job.request.terminal;
  }
  if (!own) start.runs = StreamReader::Runs::kMany;
  if (whom == For::kNextRun) {
    start.code = nullptr;
    start.code_follows = true;
    start.extra_arguments = {"--ahead"};
  }
  if (start.code != nullptr && job.request.background) start.extra_arguments = {"--background"};
  if (start.code != nullptr && job.request.restart) start.extra_arguments = {"--restart"};
  KeptState::Ends state;
  KeptState* const kept = own ? nullptr : kept_state_of(interpreter_of_run(job.run));
  if (kept != nullptr) {
    state = TRY(kept->give());
    if (!start.profile.state_pipes_block) {
      TRY(base::set_nonblocking(state.takes.get()));
      TRY(base::set_nonblocking(state.answers.get()));
    }
    start.state_fds = state.all();
  }
  const CurrentJob current = jobs_of_worker(job, own);
  Worker::Events events;
  events.message = [this, current](const nlohmann::json& message, const std::string& blob) {
    on_message(current(), message, blob);
  };
  events.broken = [current](const std::string& why) {
    if (const JobPointer hears = current()) add_note(hears->run, "interpreter: " + why);
  };
  auto worker = Worker::start(context_.loop, context_.init, start, std::move(events));
  if (!worker.ok() && state.stored.snapshot.valid()) kept->was_not_given();
  if (kept != nullptr) {
    slots_[interpreter_of_run(job.run)].tells_waking = state.stored.snapshot.valid();
  }
  return worker;
}

KeptState* Runs::kept_state_of(const Interpreter& interpreter) const {
  const auto found = context_.kept_states.find(interpreter.language);
  const bool keeps = interpreter.context.empty() && found != context_.kept_states.end();
  return keeps ? found->second : nullptr;
}

bool Runs::has_state_of(const Interpreter& interpreter) const {
  const KeptState* const kept = kept_state_of(interpreter);
  return kept != nullptr && kept->has_snapshot();
}

std::string Runs::what_cannot_be_stored() const {
  if (context_.kept_shell == nullptr) return "nothing of it is stored (autosave_mb)";
  if (!jobs_.empty()) {
    const std::string& id = jobs_.begin()->first;
    return (is_in_terminal(id) ? "a terminal is open (" : "a run is not over (") + id + ")";
  }
  if (!contexts().empty()) return "its contexts have interpreters of their own";
  const char* const unheard = "its next run is to hear what was lost before";
  if (!note_for_next_.empty()) return unheard;
  for (const auto& [interpreter, slot] : slots_) {
    const bool is_used = slot.worker != nullptr && slot.execution_count > 0;
    if (is_used && slot.holds_state && kept_state_of(interpreter) == nullptr) {
      return std::string(name_of(interpreter.language)) +
             " has something that is not stored, as temporary tables";
    }
    if (!slot.loss.empty()) return unheard;
  }
  return other_process(context_.init, workers());
}

void Runs::store(std::function<void(const std::string& held_by)> then) {
  if (context_.kept_shell == nullptr) return then(what_cannot_be_stored());
  context_.kept_shell->store();
  struct Answers {
    std::size_t missing = 1;
    std::string held_by;  // the first of what is told
  };
  const auto answers = std::make_shared<Answers>();
  const auto answer = [this, answers, then = std::move(then)](const std::string& held_by) {
    if (answers->held_by.empty()) answers->held_by = held_by;
    if (--answers->missing > 0) return;
    if (const std::string left = what_cannot_be_stored(); !left.empty()) answers->held_by = left;
    if (answers->held_by.empty() && !context_.kept_shell->is_stored()) {
      answers->held_by = "what bash knows is not stored";
    }
    then(answers->held_by);
  };
  const std::int64_t bytes_max = context_.spec.stored_mb << 20;
  for (const auto& [interpreter, slot] : slots_) {
    KeptState* const kept = kept_state_of(interpreter);
    // One that has only read the last snapshot has nothing new.
    if (kept == nullptr || !slot.worker || slot.execution_count == 0) continue;
    if (slot.current) {  // what was stored after its last run stays
      answers->held_by = "a run was not over (" + slot.current->run.run_id + ")";
      continue;
    }
    ++answers->missing;
    const std::string name(name_of(interpreter.language));
    const KeptState::Wish wish = kept->await(bytes_max, [answer, name](bool whole) {
      answer(whole ? "" : name + " knows something that cannot be stored");
    });
    slot.worker->store(wish.bytes_max, wish.number);
  }
  answer("");
}

void Runs::retire(std::unique_ptr<Worker> worker) {
  if (!worker) return;
  // The next run of this language has another worker, and is answered by that one only.
  worker->stop_listening();
  // Often called from one of its own callbacks: it must outlive them.
  context_.loop.after(std::chrono::milliseconds(0),
                      [keep = std::shared_ptr<Worker>(std::move(worker))] {});
}

void Runs::start_ahead() {
  const auto& ahead = context_.spec.ahead;
  // A copy of the zygote, and what agents use most.
  if (std::ranges::find(ahead, Language::kPython) != ahead.end()) start_ahead(Language::kPython);
  ahead_start_ = context_.loop.after(kAheadPause, [this] {
    ahead_start_ = 0;
    for (const Language language : context_.spec.ahead) {
      if (language == Language::kPython) continue;
      start_ahead(language);
      unused_.insert(interpreter_of(language));
    }
  });
}

void Runs::start_ahead(Language language) {
  if (language == Language::kBash) {
    prepare_next_worker();
    context_.loop.cancel(next_worker_end_);  // it waits for the first run of any
    return;
  }
  Slot& slot = slots_[{interpreter_of(language), ""}];
  if (slot.worker) return;
  Job nobodys;
  nobodys.run.language = language;
  auto worker = start_worker(nobodys, For::kManyRuns);
  if (worker.ok()) slot.worker = std::move(worker).value();
}

void Runs::end_unused_soon() {
  context_.loop.cancel(ahead_start_);
  if (unused_.empty() || unused_end_ != 0) return;
  unused_end_ = context_.loop.after(kUnusedMost, [this] {
    for (const Language language : std::exchange(unused_, {})) {
      if (language == Language::kBash) {
        drop_next_worker();
      } else if (Slot& slot = slots_[{language, ""}]; slot.worker) {
        slot.worker->kill_group();
        retire(std::move(slot.worker));
      }
    }
  });
}

void Runs::prepare_next_worker() {
  if (context_.kept_shell != nullptr) context_.kept_shell->store();
  const Slot& slot = slots_[{Language::kBash, ""}];
  if (next_worker_ || slot.current || held_ || closed_) return;
  if (context_.spec.limits.processes < kNextShellPidsMin) return;
  next_worker_state_ = bash_state_number(context_.init.root_fd());
  Job nobodys;
  nobodys.run.language = Language::kBash;
  nobodys.request.directory = slot.directory;
  next_worker_directory_ = start_directory_of(nobodys.request);
  auto worker = start_worker(nobodys, For::kNextRun);
  if (!worker.ok()) return;  // the run will find out why
  next_worker_ = std::move(worker).value();
  next_worker_end_ = context_.loop.after(kUnusedMost, [this] {
    next_worker_end_ = 0;
    drop_next_worker();
  });
}

void Runs::prepare_next_worker_soon() {
  if (next_worker_start_ != 0) return;
  next_worker_start_ = context_.loop.after(kTellingMost, [this] {
    next_worker_start_ = 0;
    prepare_next_worker();
  });
}

void Runs::end_was_told() {
  if (next_worker_start_ == 0) return;
  context_.loop.cancel(next_worker_start_);
  context_.loop.after(std::chrono::milliseconds(0), [this] { prepare_next_worker(); });
}

std::unique_ptr<Worker> Runs::take_next_worker(const Job& job) {
  if (!next_worker_ || job.run.language != Language::kBash || job.request.background) {
    return nullptr;
  }
  unused_.erase(Language::kBash);
  const bool fits = !job.request.restart && job.request.env.empty() &&
                    job.bash_state_before == next_worker_state_ &&
                    start_directory_of(job.request) == next_worker_directory_;
  if (!fits || !next_worker_->give_code(job.request.code).ok()) {
    drop_next_worker();
    return nullptr;
  }
  context_.loop.cancel(next_worker_end_);
  return std::move(next_worker_);
}

void Runs::take_output_of(Job& job) {
  const auto tell = [this, id = job.run.run_id] { on_output(id); };
  job.worker->out().set_target(job.out, tell);
  job.worker->err().set_target(job.err, tell);
}

// In another process, where the one that had waited for the code was killed before it came to it.
bool Runs::begin_again(Job& job) {
  if (job.stop_cause || job.own_worker->has_read_code() || job.request.code.empty()) return false;
  auto worker = start_worker(job, For::kOneRun);
  if (!worker.ok()) return false;
  retire(std::move(job.own_worker));
  job.own_worker = std::move(worker).value();
  job.worker = job.own_worker.get();
  take_output_of(job);
  return true;
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
