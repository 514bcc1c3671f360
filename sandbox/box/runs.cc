#include "sandbox/box/runs.h"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "sandbox/box/bash_state.h"
#include "sandbox/box/job_outputs.h"
#include "sandbox/box/remarks.h"
#include "sandbox/box/run_processes.h"

namespace sandbox::box {

using base::Error;
using nlohmann::json;
using std::chrono::milliseconds;

namespace {

// Kept in memory, for servers that wait for them; all are on disk. Few, since outputs may be large.
constexpr std::size_t kEndedMax = 8;
// A file that changed so shortly before is one that was being written.
constexpr std::int64_t kWritesBeforeAKillNs = 1'000'000'000;
// A process that gets no memory is slow for a while before it is killed.
constexpr std::int64_t kWritesBeforeOomNs = 5'000'000'000;
constexpr const char* kSetAside =
    " ended twice while it read its stored variables: they were set aside, and are lost";
constexpr const char* kNoRoom =
    ": what has changed is not stored, since the host's disk is nearly full, and ends with the "
    "process";
constexpr const char* kNoShare =
    ": only 1 MB of variables is stored, since what your sessions have stored takes a tenth of the "
    "disk (delete_session makes room)";
constexpr const char* kDuringThisRun =
    "others ran meanwhile: files and network are told as of during this run, whosever they are";
constexpr const char* kRestarted =
    "began in a fresh interpreter, as asked: variables of earlier runs are lost, files kept";

// Code may have taken its own rights away from a directory in which processes start.
base::Status make_enterable(int directory_fd) {
  struct stat status {};
  if (::fstat(directory_fd, &status) != 0)
    return Error::from_errno("fstat of a directory of the session");
  if ((status.st_mode & S_IRWXU) == S_IRWXU) return base::done();
  if (::fchmod(directory_fd, (status.st_mode & 07777) | S_IRWXU) == 0) return base::done();
  return Error::from_errno("fchmod of a directory of the session");
}

// Counts them to what all runs have put out, from now on with what comes late.
void count_outputs(const std::weak_ptr<KeptOutputs>& kept, const Job& job) {
  const auto outputs = kept.lock();
  if (!outputs) return;
  outputs->add(job.run.run_id);
  for (const auto& stream : {job.out, job.err}) {
    stream->on_growth([kept, id = job.run.run_id](auto bytes) {
      if (const auto still = kept.lock()) still->grew(id, bytes);
    });
  }
}

// Takes when the code began and ended, by its interpreter's word.
void mark_code(RunTrace& trace, const json& done) {
  const auto began_us = base::find_integer(done, "began_us");
  const auto ended_us = base::find_integer(done, "ended_us");
  const bool can_be = began_us && ended_us && *began_us > 0 && *began_us <= *ended_us &&
                      *ended_us <= base::now_us();
  if (!can_be) return;
  trace.mark(Hop::kCodeBegun, *began_us);
  trace.mark(Hop::kCodeEnded, *ended_us);
}

}  // namespace

Runs::Runs(Context context)
    : context_(std::move(context)),
      profiles_(context_.spec.data_directory, context_.spec.environment_directory),
      telemetry_hosts_(context_.spec.data_directory),
      kept_runs_(context_.session_fd),
      file_changes_(context_.workspace_fd, static_cast<std::size_t>(context_.spec.limits.files)),
      kept_outputs_(std::make_shared<KeptOutputs>(context_.session_fd, context_.runs_fd,
                                                  context_.spec.limits.disk_mb << 20)),
      looked_into_(folders_to_look_into(context_.init.root_fd(), context_.spec)) {}

Runs::~Runs() = default;

base::Status Runs::submit(RunRequest request) {
  if (closed_) {
    return base::error(Error::Kind::kUnavailable,
                       "the session stores what it knows, and its sandbox ends: try again in a "
                       "moment");
  }
  if (find(request.run_id) != nullptr) return base::done();  // a server asked twice: one run
  if (held_) {
    return base::error(Error::Kind::kConflict,
                       "the session is paused and did not wake up in time: try again, or "
                       "delete_session");
  }
  TRY(profiles_.of(request.language));
  const auto running_behind = std::count_if(jobs_.begin(), jobs_.end(), [](const auto& entry) {
    return entry.second->request.background;
  });
  if (request.background && running_behind >= kBackgroundRunsMax) {
    std::string ids;
    for (const auto& [id, job] : jobs_) {
      if (job->request.background) base::append_part(ids, id);
    }
    return base::error(Error::Kind::kLimit,
                       "this session already has " + std::to_string(kBackgroundRunsMax) +
                           " background runs; cancel_run one of them first: " + ids);
  }
  TRY(check_context(request));
  const Interpreter wanted{interpreter_of(request.language), request.context};
  const auto known = slots_.find(wanted);
  if (!request.background && known != slots_.end() &&
      known->second.queue.size() >= kQueuedRunsMax) {
    return base::error(Error::Kind::kLimit, "too many runs wait for this interpreter already (" +
                                                std::to_string(kQueuedRunsMax) + ")");
  }
  auto job = std::make_shared<Job>();
  job->request = std::move(request);
  job->run.run_id = job->request.run_id;
  job->run.language = job->request.language;
  job->run.background = job->request.background;
  job->run.context = job->request.context;
  job->run.timeout_seconds = job->request.timeout_seconds;
  job->run.queued_at_ms = base::now_ms();
  job->run.trace = job->request.trace;
  job->run.trace.mark(Hop::kAccepted);
  TRY(open_job_files(*job, context_.runs_fd, context_.spec.limits.output_mb << 20));
  if (job->request.restarts_on_wake) TRY(kept_runs_.keep(job->request));
  jobs_[job->run.run_id] = job;
  if (job->request.background) {
    begin(job);
  } else {
    Slot& slot = slots_[wanted];
    if (slot.directory.empty()) slot.directory = job->request.directory;
    slot.queue.push_back(job);
    start_next(wanted);
  }
  return base::done();
}

const Run* Runs::find(const std::string& run_id) {
  if (const auto job = jobs_.find(run_id); job != jobs_.end()) {
    Job& found = *job->second;
    found.run.stdout_bytes = found.out->bytes();
    found.run.stderr_bytes = found.err->bytes();
    found.run.left_ms = left_ms(found);
    found.run.is_waking = found.run.status == RunStatus::kRunning && is_waking(found);
    found.run.waits_for.clear();
    if (found.run.status == RunStatus::kQueued) {
      const JobPointer& ahead = slots_[interpreter_of_run(found.run)].current;
      if (ahead) found.run.waits_for = ahead->run.run_id;
    }
    return &found.run;
  }
  const auto ended = std::find_if(ended_.begin(), ended_.end(),
                                  [&run_id](const Run& run) { return run.run_id == run_id; });
  return ended == ended_.end() ? nullptr : &*ended;
}

std::vector<const Run*> Runs::active() const {
  std::vector<const Run*> runs;
  for (const auto& [id, job] : jobs_) runs.push_back(&job->run);
  std::sort(runs.begin(), runs.end(),
            [](const Run* a, const Run* b) { return a->queued_at_ms < b->queued_at_ms; });
  return runs;
}

base::Status Runs::cancel(const std::string& run_id) {
  const auto found = jobs_.find(run_id);
  if (found == jobs_.end()) {
    if (find(run_id) != nullptr) return base::done();  // has ended: nothing to cancel
    return base::error(Error::Kind::kNotFound, "no such run in this box");
  }
  const JobPointer job = found->second;
  kept_runs_.forget(run_id);
  if (job->run.status == RunStatus::kRunning) {
    stop(*job, Cause::kCancelled);
    return base::done();
  }
  auto& queue = slots_[interpreter_of_run(job->run)].queue;
  queue.erase(std::remove(queue.begin(), queue.end(), job), queue.end());
  end_without_process(job->run, Cause::kCancelled, "cancelled before it started");
  finish(job);
  return base::done();
}

void Runs::start_next(const Interpreter& interpreter) {
  Slot& slot = slots_[interpreter];
  if (held_ || slot.current || slot.interrupted || slot.queue.empty()) return;
  slot.current = slot.queue.front();
  slot.queue.pop_front();
  begin(slot.current);
}

// Marks runs that are on together: what happens to files and on the network from here on is not
// known to be one run's.
void Runs::meet_others(Job& job) {
  for (const auto& [id, other] : jobs_) {
    if (other->run.status != RunStatus::kRunning || other.get() == &job) continue;
    other->had_company = true;
    job.had_company = true;
  }
}

void Runs::begin(const JobPointer& job) {
  job->run.trace.mark(Hop::kBegun);
  meet_others(*job);
  // Runs that are on may have changed files since they were last seen, and go on.
  job->files_before = files_touched_ || job->had_company ? file_changes_.take_snapshot()
                                                         : file_changes_.last_seen();
  files_touched_ = false;
  job->run.status = RunStatus::kRunning;
  if (job->request.restart) add_note(job->run, kRestarted);
  tell_what_was_lost(*job);
  context_.begins(job->run);
  job->run.started_at_ms = base::now_ms();
  job->run.network.bytes = std::exchange(bytes_between_runs_, 0);
  stops_ = 0;
  job->obeyed_before = find_obeyed_names(context_.init.root_fd(), looked_into_);
  job->started_file_time_ns = FileChanges::file_time_ns();
  job->started_process_time = process_clock();
  job->oom_kills_before = context_.oom_kills();
  job->pids_refused_before = context_.pids_refused();
  if (job->run.language == Language::kBash) {
    job->bash_state_before = bash_state_number(context_.init.root_fd());
  }
  if (const auto started = start_process(*job); !started.ok()) {
    const int why = started.error().os_errno;
    // ETIMEDOUT: the code of the box stopped it before it became a program.
    if ((why == EAGAIN || why == ETIMEDOUT) && make_room(job)) return;
    end_without_start(job->run, started.error());
    // Not from inside submit(): its caller must see the run as accepted first.
    context_.loop.after(milliseconds(0), [this, job] { finish(job); });
    return;
  }
  if (job->request.timeout_seconds > 0) arm_deadline(*job, job->request.timeout_seconds * 1000);
  context_.changed(job->run.run_id);
}

base::Status Runs::start_process(Job& job) {
  TRY(make_enterable(context_.workspace_fd));
  if (!job.request.directory.empty()) TRY(make_enterable(context_.home_fd));
  const Profile profile = TRY(profiles_.of(job.run.language));
  const bool own = job.request.background || profile.process == Profile::Process::kPerRun;
  Slot& slot = slots_[interpreter_of_run(job.run)];
  bool is_new = false;
  if (own) {
    job.own_worker = take_next_worker(job);
    is_new = job.own_worker == nullptr;
    if (is_new) job.own_worker = TRY(start_worker(job, For::kOneRun));
    job.worker = job.own_worker.get();
  } else {
    KeptState* const kept = kept_state_of(interpreter_of_run(job.run));
    if (job.request.restart && kept != nullptr) kept->forget();
    if (slot.worker && (job.request.restart || !slot.worker->usable())) {
      slot.worker->kill_group();
      retire(std::move(slot.worker));
    }
    is_new = slot.worker == nullptr;
    if (is_new) slot.worker = TRY(start_worker(job, For::kManyRuns));
    if (is_new) slot.execution_count = 0;
    if (kept != nullptr && kept->take_set_aside()) {
      add_note(job.run, std::string(name_of(interpreter_of(job.run.language))) + kSetAside);
    }
    if (kept != nullptr && kept->take_no_room()) {
      add_note(job.run, std::string(name_of(interpreter_of(job.run.language))) + kNoRoom);
    }
    if (kept != nullptr && kept->take_no_share()) {
      add_note(job.run, std::string(name_of(interpreter_of(job.run.language))) + kNoShare);
    }
    if (job.request.context.empty()) unused_.erase(interpreter_of(job.run.language));
    job.worker = slot.worker.get();
  }
  if (is_new) job.run.trace.mark(Hop::kProcessStarted);
  if (!job.request.background) job.run.execution_count = ++slot.execution_count;
  take_output_of(job);
  if (profile.process == Profile::Process::kPerSession) {
    json run = {{"type", "run"},
                {"run_id", job.run.run_id},
                {"language", name_of(job.run.language)},
                {"code", job.request.code},
                {"env", own ? std::map<std::string, std::string>() : job.request.env},
                {"background", job.request.background},
                {"after_interrupt", job.worker->take_interrupted()}};
    // One that was started ahead did not know it.
    const bool is_first = !own && slot.execution_count == 1;
    if (is_first && !slot.directory.empty()) run["directory"] = slot.directory;
    for (const auto& [id, other] : jobs_) {
      if (!other->request.installs.empty()) run["installs"][id] = other->request.installs;
    }
    job.worker->send_run(run);
    job.run.trace.mark(Hop::kSent);
  }
  return base::done();
}

Runs::CurrentJob Runs::jobs_of_worker(const Job& job, bool own) {
  if (own) {
    return [this, id = job.run.run_id]() -> JobPointer {
      const auto found = jobs_.find(id);
      return found == jobs_.end() ? nullptr : found->second;
    };
  }
  return [this, interpreter = interpreter_of_run(job.run)]() -> JobPointer {
    const auto found = slots_.find(interpreter);
    return found == slots_.end() ? nullptr : found->second.current;
  };
}

void Runs::on_message(const JobPointer& job, const json& message, const std::string& blob) {
  if (!job || job->run.status != RunStatus::kRunning) return;
  // Said for an earlier run, or at no run's time.
  if (base::string_or(message, "run_id") != job->run.run_id) return;
  const std::string type = base::string_or(message, "type");
  if ((type == "output" && !add_output(*job, message, blob)) ||
      (type == "part" && !add_part(*job, message, blob))) {
    add_note(job->run, kOutputsDropped);
  }
  if (type != "done") return job->run.trace.mark(Hop::kFirstOutput);
  job->worker->out().drain();
  job->worker->err().drain();
  if (job->run.status != RunStatus::kRunning) return;
  mark_code(job->run.trace, message);
  if (!job->own_worker) {
    slots_[interpreter_of_run(job->run)].holds_state =
        message.value("holds_state", json(true)) != json(false);
  }
  const Interpreter interpreter = interpreter_of_run(job->run);
  const bool tells = !job->own_worker && std::exchange(slots_[interpreter].tells_waking, false);
  end_by_message(job->run, tells ? with_short_waking(interpreter, message) : message,
                 observe(*job));
  finish(job);
}

void Runs::on_output(const std::string& run_id) {
  const auto found = jobs_.find(run_id);
  if (found == jobs_.end()) return;
  Job& job = *found->second;
  if (job.out->bytes() + job.err->bytes() > 0) job.run.trace.mark(Hop::kFirstOutput);
  if (job.out->no_room() || job.err->no_room()) {
    stop(job, Cause::kDisk);
  } else if (job.out->over_limit() || job.err->over_limit()) {
    stop(job, Cause::kOutput);
  }
  context_.changed(run_id);
}

// Returns in words what other interpreters of the session hold, whatever becomes of this run's.
std::string Runs::kept_elsewhere(const Job& job) const {
  std::string kept;
  for (const auto& [interpreter, slot] : slots_) {
    if (!interpreter.context.empty() || interpreter.language == Language::kBash) continue;
    // Tables lie in a file, whatever has become of their interpreter.
    const bool has_tables = interpreter.language == Language::kSql && slot.execution_count > 0;
    if (!slot.worker && !has_tables) continue;
    if (slot.worker && slot.worker.get() == job.worker) continue;
    kept += std::string(", ") + (interpreter.language == Language::kSql ? "tables of SQL"
                                 : interpreter.language == Language::kPython
                                     ? "variables of Python"
                                     : "variables of JavaScript");
    kept += " kept";
  }
  return kept;
}

Observed Runs::observe(const Job& job) const {
  Observed observed;
  observed.stop_cause = job.stop_cause;
  observed.children_interrupted = job.group_interrupted;
  observed.own_process = job.own_worker != nullptr;
  observed.bash_state_kept = job.run.language == Language::kBash &&
                             bash_state_number(context_.init.root_fd()) != job.bash_state_before;
  observed.out_of_memory = context_.oom_kills() > job.oom_kills_before;
  observed.disk_used_up = context_.disk_used_up();
  observed.forks_refused = context_.pids_refused() > job.pids_refused_before;
  // Told only of what ran out of memory.
  if (observed.out_of_memory || job.stop_cause == Cause::kOom) {
    observed.memory_peak_bytes = context_.memory_peak_bytes();
  }
  observed.last_words = job.err->tail();
  observed.limits = context_.spec.limits;
  observed.timeout_seconds = job.request.timeout_seconds;
  observed.background = job.request.background;
  observed.variables_stored = !job.own_worker && has_state_of(interpreter_of_run(job.run));
  observed.kept_elsewhere = kept_elsewhere(job);
  return observed;
}

// Killed by hutch itself, one that ends explains nothing.
void Runs::explain_kill(bool by_us, int wait_status) {
  const bool is_killed = WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL;
  if (is_killed && !by_us && oom_kills_explained_ < context_.oom_kills()) ++oom_kills_explained_;
}

void Runs::process_exited(pid_t pid, int wait_status) {
  if (next_worker_exited(pid)) return;
  for (auto& [interpreter, slot] : slots_) {
    if (!slot.worker || slot.worker->pid() != pid) continue;
    const JobPointer job = slot.current;
    explain_kill(slot.ended_by_us || (job && job->stop_cause), wait_status);
    if (job) {
      slot.worker->out().drain();
      slot.worker->err().drain();
      end_by_exit(job->run, wait_status, observe(*job));
    } else if (!slot.ended_by_us) {
      tell_of_idle_end(interpreter, wait_status);
    }
    slot.ended_by_us = false;
    retire(std::move(slot.worker));
    if (job) finish(job);
    return;
  }
  for (const auto& [id, entry] : jobs_) {
    const JobPointer job = entry;
    if (!job->own_worker || job->own_worker->pid() != pid) continue;
    if (begin_again(*job)) return;
    explain_kill(job->stop_cause.has_value(), wait_status);
    job->own_worker->out().drain();
    job->own_worker->err().drain();
    end_by_exit(job->run, wait_status, observe(*job));
    finish(job);
    return;
  }
}

void Runs::remember(const Run& run) {
  ended_.push_back(run);
  if (ended_.size() > kEndedMax) ended_.pop_front();
}

// The runner of Python tells of its children, and waits for them; what they in turn have left
// behind is init's, as is all that bash leaves.
void Runs::tell_what_goes_on(Job& job) {
  // Processes that a stopped run has started were ended with it, and may be dying still.
  if (job.worker == nullptr || job.stop_cause) return;
  LeftSince since{job.started_process_time, workers(), std::nullopt, std::nullopt};
  if (interpreter_of(job.run.language) == Language::kJavaScript) since.waiting = job.worker->pid();
  if (job.had_company) since.session = job.worker->pid();  // others leave something, too
  std::string told;
  // The clock of processes is coarse: what a run has left may have begun at the next one's time.
  constexpr std::size_t kToldMax = 64;
  for (const auto& [pid, began, command] : left_processes(context_.init, since)) {
    if (!told_left_.emplace(began, pid).second) continue;
    if (told_left_.size() > kToldMax) told_left_.erase(told_left_.begin());
    base::append_part(told, command + " (pid " + std::to_string(pid) + ")");
  }
  if (!told.empty()) add_note(job.run, "left running by this run: " + told + "; kill PID ends it");
}

void Runs::take_changes(Job& job) {
  job.run.left_ms = 0;
  if (job.run.started_at_ms == 0) return;
  // Killed, and nobody knew that it was to be.
  const bool was_killed = job.run.exit_code == 128 + SIGKILL && !job.stop_cause;
  const bool ran_out = job.run.error && job.run.error->cause == Cause::kOom;
  if (was_killed) {
    job.unfinished.since_ns =
        FileChanges::file_time_ns() - (ran_out ? kWritesBeforeOomNs : kWritesBeforeAKillNs);
  }
  if (job.run.status == RunStatus::kCompleted) job.unfinished = {};
  std::size_t changes = 0;
  job.run.files_changed = file_changes_.changes_since(
      std::exchange(job.files_before, {}), job.started_file_time_ns, job.unfinished, changes);
  job.run.files_changed_total = static_cast<std::int64_t>(changes);
  const std::string new_names = note_of_new_names(
      job.obeyed_before, find_obeyed_names(context_.init.root_fd(), looked_into_));
  if (!new_names.empty()) add_note(job.run, new_names);
  if (job.had_company && (changes > 0 || !job.run.network.empty())) {
    add_note(job.run, kDuringThisRun);
  }
}

void Runs::finish(const JobPointer& job) {
  if (!jobs_.contains(job->run.run_id)) return;  // the box, or a client, was quicker to end it
  job->run.trace.mark(Hop::kDone);
  context_.loop.cancel(job->deadline);
  context_.loop.cancel(job->escalation);
  end_what_it_started(*job);
  if (job->request.restarts_on_wake && !job->starts_anew) kept_runs_.forget(job->run.run_id);
  drop_parts(*job);
  if (job->run.started_at_ms != 0 && context_.oom_kills() > job->oom_kills_before) {
    oom_kills_told_ = context_.oom_kills();
  }
  if (context_.catch_up_with_network) context_.catch_up_with_network();
  add_remarks(job->run, context_.spec, job->out->tail(), job->err->tail());
  tell_what_goes_on(*job);
  take_changes(*job);
  job->run.stdout_bytes = job->out->bytes();
  job->run.stderr_bytes = job->err->bytes();
  job->run.finished_at_ms = base::now_ms();
  if (job->run.started_at_ms != 0) {
    job->run.duration_ms = job->run.finished_at_ms - job->run.started_at_ms;
  }
  job->run.trace.mark(Hop::kRecorded);
  if (const auto written = write_record(*job); !written.ok()) {
    add_note(job->run, "record not kept on disk: " + written.error().message);
  }
  remember(job->run);
  const std::string id = job->run.run_id;
  jobs_.erase(id);
  if (job->worker != nullptr) {
    job->worker->out().stop_telling();
    job->worker->err().stop_telling();
  }
  job->worker = nullptr;
  if (job->own_worker) {
    left_streams_.add(job->own_worker->out());
    left_streams_.add(job->own_worker->err());
  }
  retire(std::move(job->own_worker));
  context_.changed(id);
  // Whoever waits for the run has been answered by then.
  context_.loop.after(milliseconds(0),
                      [kept = std::weak_ptr(kept_outputs_), job] { count_outputs(kept, *job); });
  const Interpreter interpreter = interpreter_of_run(job->run);
  Slot& slot = slots_[interpreter];
  if (slot.current == job) {
    slot.current.reset();
    if (job->stop_cause && slot.worker) {
      slot.interrupted = true;
      context_.init.after_signals([this, interpreter] {
        const auto found = slots_.find(interpreter);
        if (found == slots_.end()) return;  // its context was ended
        found->second.interrupted = false;
        start_next(interpreter);
      });
    }
  }
  start_next(interpreter);
  if (interpreter.language == Language::kBash && !job->run.background) {
    prepare_next_worker_soon();
  }
  if (slot.is_over) context_.loop.after(milliseconds(0), [this] { forget_ended_contexts(); });
  if (jobs_.empty()) {
    context_.loop.after(milliseconds(0), [fd = context_.runs_fd] { prepare_job_files(fd); });
  }
}

}  // namespace sandbox::box
