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
#include "sandbox/box/new_obeyed_files.h"
#include "sandbox/box/remarks.h"
#include "sandbox/box/run_processes.h"
#include "sandbox/output.h"

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
// A run that finds the process table full waits for room: what was killed may still be dying, then
// what was left behind is ended for it, then the interpreters; and in all.
constexpr int kAttemptsWithLeftBehind = 2;
constexpr int kAttemptsWithInterpreters = 8;
constexpr int kStartAttemptsMax = 40;
constexpr milliseconds kStartPause{50};
constexpr int kRunsNamed = 5;

// Since the last run began. A program may stop itself, to be told to go on.
constexpr int kStopsMax = 20;
constexpr std::int64_t kNextShellPidsMin = 32;  // a smaller limit of processes has no room for it
constexpr const char* kSetAside =
    " ended twice while it read its stored variables: they were set aside, and are lost";
constexpr const char* kNoRoom =
    ": what has changed is not stored, since the host's disk is nearly full, and ends with the "
    "process";
constexpr const char* kNoShare =
    ": no more variables are stored than were, and 3 MB beside, since what your sessions have "
    "stored "
    "takes a tenth of the disk (delete_session makes room)";
constexpr const char* kRestarted =
    "began in a fresh interpreter, as asked: variables of earlier runs are lost, files kept";
constexpr const char* kRestartedSql =
    "began anew, as asked: tables and files are kept; temporary tables, settings and what was not "
    "committed are lost";

// Code may have taken its own rights away from a directory in which processes start.
base::Status make_enterable(int directory_fd) {
  struct stat status {};
  if (::fstat(directory_fd, &status) != 0)
    return Error::from_errno("fstat of a directory of the session");
  if ((status.st_mode & S_IRWXU) == S_IRWXU) return base::done();
  if (::fchmod(directory_fd, (status.st_mode & 07777) | S_IRWXU) == 0) return base::done();
  return Error::from_errno("fchmod of a directory of the session");
}

std::string because_of_memory(const Limits& limits) {
  return " because the session's " + std::to_string(limits.memory_mb) +
         " MB (limits.memory_mb) were used up";
}

// A command of bash is a small process; each other run in the background has an interpreter of its
// own, with its memory, and computes as a rule.
constexpr int kBackgroundInterpretersMax = 5;

bool has_interpreter_behind(const Run& run) {
  return run.background && run.language != Language::kBash;
}

// `active` are all runs that are on, the oldest first.
base::Status check_background(const std::vector<const Run*>& active, Language wanted) {
  const bool of_interpreters = wanted != Language::kBash;
  const int most = of_interpreters ? kBackgroundInterpretersMax : kBackgroundRunsMax;
  std::string ids;
  int count = 0;
  for (const Run* run : active) {
    if (!(of_interpreters ? has_interpreter_behind(*run) : run->background)) continue;
    if (count++ < kRunsNamed) base::append_part(ids, run->run_id);
  }
  if (count < most) return base::done();
  Error refusal =
      base::error(Error::Kind::kLimit,
                  "this session already has " + std::to_string(most) + " background runs" +
                      (of_interpreters ? " beside bash's" : "") +
                      "; cancel_run one of them first: " + ids + " began before the others");
  refusal.os_errno = kTooManyInBackground;
  return refusal;
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
      workers_(context_.loop, context_.init, context_.spec),
      kept_runs_(context_.session_fd),
      file_changes_(context_.workspace_fd, static_cast<std::size_t>(context_.spec.limits.files)),
      kept_outputs_(std::make_shared<KeptOutputs>(context_.session_fd, context_.runs_fd,
                                                  context_.spec.limits.disk_mb << 20)),
      looked_into_(folders_to_look_into(context_.init.root_fd(), context_.spec)),
      left_behind_(context_.init, context_.freeze),
      interpreters_(context_.kept_states),
      next_shell_({.loop = context_.loop,
                   .root_fd = context_.init.root_fd(),
                   .kept_shell = context_.kept_shell,
                   .may_start = [this] { return directory_of_next_shell(); },
                   .start =
                       [this](const std::string& directory) {
                         Job nobodys;
                         nobodys.run.language = Language::kBash;
                         nobodys.request.directory = directory;
                         return start_worker(nobodys, RunWorkers::For::kNextRun);
                       }}),
      starts_ahead_({.loop = context_.loop,
                     .languages = context_.spec.ahead,
                     .start = [this](Language language) { start_ahead(language); },
                     .end = [this](Language interpreter) { end_unused(interpreter); }}),
      stopper_({.loop = context_.loop,
                .init = context_.init,
                .files = file_changes_,
                .interpreters = interpreters_,
                .find = [this](const std::string& run_id) { return job_of(run_id); }}),
      network_(context_.spec.data_directory) {}

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
  TRY(workers_.profile_of(request.language));
  if (request.background) TRY(check_background(active(), request.language));
  TRY(interpreters_.check_context(request));
  const Interpreters::Key wanted{interpreter_of(request.language), request.context};
  const Interpreters::Slot* const known = interpreters_.find(wanted);
  if (!request.background && known != nullptr && known->queue.size() >= kQueuedRunsMax) {
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
    Interpreters::Slot& slot = interpreters_.slot(wanted);
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
    found.run.left_ms = RunStopper::left_ms(found);
    found.run.is_waking = found.run.status == RunStatus::kRunning && stopper_.is_waking(found);
    found.run.waits_for.clear();
    if (found.run.status == RunStatus::kQueued) {
      const JobPointer& ahead = interpreters_.slot(Interpreters::key_of(found.run)).current;
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
    stopper_.stop(*job, Cause::kCancelled);
    return base::done();
  }
  auto& queue = interpreters_.slot(Interpreters::key_of(job->run)).queue;
  queue.erase(std::remove(queue.begin(), queue.end(), job), queue.end());
  end_without_process(job->run, Cause::kCancelled, "cancelled before it started");
  finish(job);
  return base::done();
}

void Runs::start_next(const Interpreters::Key& interpreter) {
  Interpreters::Slot& slot = interpreters_.slot(interpreter);
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
  if (job->request.restart) {
    add_note(job->run, job->run.language == Language::kSql ? kRestartedSql : kRestarted);
  }
  tell_what_was_lost(*job);
  context_.begins(job->run, job->request.restarts_on_wake);
  job->run.started_at_ms = base::now_ms();
  job->run.network.bytes = network_.take_between_runs();
  stops_ = 0;
  job->obeyed_before = find_obeyed_names(context_.init.root_fd(), looked_into_);
  job->started_file_time_ns = FileChanges::file_time_ns();
  job->started_process_time = process_clock();
  job->oom_kills_before = context_.oom_kills();
  // Something went on against the limit: who filled the process table is ended before this run
  // meets it.
  job->pids_refused_before = context_.pids_refused();
  if (job->pids_refused_before > pids_refused_seen_ &&
      end_left_behind_where_most(context_.spec.limits.processes * 3 / 4)) {
    job->pids_refused_before = context_.pids_refused();  // and what was refused meanwhile
  }
  pids_refused_seen_ = job->pids_refused_before;
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
  if (job->request.timeout_seconds > 0)
    stopper_.arm_deadline(*job, job->request.timeout_seconds * 1000);
  context_.changed(job->run.run_id);
}

base::Status Runs::start_process(Job& job) {
  TRY(make_enterable(context_.workspace_fd));
  if (!job.request.directory.empty()) TRY(make_enterable(context_.home_fd));
  const Profile profile = TRY(workers_.profile_of(job.run.language));
  const bool own = job.request.background || profile.process == Profile::Process::kPerRun;
  Interpreters::Slot& slot = interpreters_.slot(Interpreters::key_of(job.run));
  bool is_new = false;
  if (own) {
    if (next_shell_.waits_for(job)) {
      starts_ahead_.is_used(Language::kBash);
      job.own_worker = next_shell_.take(job);
    }
    is_new = job.own_worker == nullptr;
    if (is_new) job.own_worker = TRY(start_worker(job, RunWorkers::For::kOneRun));
    job.worker = job.own_worker.get();
  } else {
    KeptState* const kept = interpreters_.kept_state_of(Interpreters::key_of(job.run));
    if (job.request.restart && kept != nullptr) kept->forget();
    if (slot.worker && (job.request.restart || !slot.worker->usable())) {
      slot.worker->kill_group();
      retire(std::move(slot.worker));
    }
    is_new = slot.worker == nullptr;
    if (is_new) slot.worker = TRY(start_worker(job, RunWorkers::For::kManyRuns));
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
    if (job.request.context.empty()) starts_ahead_.is_used(interpreter_of(job.run.language));
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

Runs::JobPointer Runs::job_of(const std::string& run_id) const {
  const auto found = jobs_.find(run_id);
  return found == jobs_.end() ? nullptr : found->second;
}

Runs::CurrentJob Runs::jobs_of_worker(const Job& job, bool own) {
  if (own) return [this, id = job.run.run_id] { return job_of(id); };
  return [this, interpreter = Interpreters::key_of(job.run)]() -> JobPointer {
    const Interpreters::Slot* const found = interpreters_.find(interpreter);
    return found == nullptr ? nullptr : found->current;
  };
}

void Runs::on_message(const JobPointer& job, const json& message, const std::string& blob) {
  if (!job || job->run.status != RunStatus::kRunning) return;
  // Said for an earlier run, or at no run's time.
  if (base::string_or(message, "run_id") != job->run.run_id) return;
  const std::string type = base::string_or(message, "type");
  if ((type == "output" && !add_output(*job, message, blob)) ||
      (type == "part" && !add_part(*job, message, blob))) {
    job->run.outputs_dropped = true;
    add_note(job->run, kOutputsDropped);
  }
  if (type != "done") return job->run.trace.mark(Hop::kFirstOutput);
  job->worker->out().drain();
  job->worker->err().drain();
  if (job->run.status != RunStatus::kRunning) return;
  mark_code(job->run.trace, message);
  job->left_running = left_running_from_json(message.value("left_running", json()));
  bool tells_waking = false;
  if (!job->own_worker) {
    Interpreters::Slot& slot = interpreters_.slot(Interpreters::key_of(job->run));
    slot.holds_state = message.value("holds_state", json(true)) != json(false);
    tells_waking = std::exchange(slot.tells_waking, false);
  }
  end_by_message(job->run, tells_waking ? with_short_waking(*job, message) : message,
                 observe(*job));
  finish(job);
}

void Runs::on_output(const std::string& run_id) {
  const auto found = jobs_.find(run_id);
  if (found == jobs_.end()) return;
  Job& job = *found->second;
  if (job.out->bytes() + job.err->bytes() > 0) job.run.trace.mark(Hop::kFirstOutput);
  if (job.out->no_room() || job.err->no_room()) {
    stopper_.stop(job, Cause::kDisk);
  } else if (job.out->over_limit() || job.err->over_limit()) {
    stopper_.stop(job, Cause::kOutput);
  }
  context_.changed(run_id);
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
  observed.disk_limit = job.disk_limit;
  observed.forks_refused = context_.pids_refused() > job.pids_refused_before;
  // Told only of what ran out of memory.
  if (observed.out_of_memory || job.stop_cause == Cause::kOom) {
    observed.memory_peak_bytes = context_.memory_peak_bytes();
  }
  observed.last_words = job.err->tail();
  observed.limits = context_.spec.limits;
  observed.timeout_seconds = job.request.timeout_seconds;
  observed.most_seconds = job.request.most_seconds;
  observed.background = job.request.background;
  observed.variables_stored =
      !job.own_worker && interpreters_.has_state_of(Interpreters::key_of(job.run));
  if (observed.variables_stored) {
    observed.stored_run_id = interpreters_.run_of_state(Interpreters::key_of(job.run));
  }
  observed.kept_elsewhere = interpreters_.kept_elsewhere(job);
  return observed;
}

void Runs::explain_kill(bool by_us, int wait_status) {
  if (OomKills::may_be_one(by_us, wait_status)) oom_kills_.explain_one(context_.oom_kills());
}

void Runs::process_exited(pid_t pid, int wait_status) {
  if (next_shell_.exited(pid)) return;
  for (auto& [interpreter, slot] : interpreters_.all()) {
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

void Runs::tell_what_goes_on(Job& job) {
  // Where it was ended with the run, it may be dying still.
  if (job.worker == nullptr || RunStopper::ends_what_it_started(job)) return;
  LeftRunning left = left_behind_.look_behind(job, workers());
  left.may_print =
      job.own_worker && (job.own_worker->out().is_open() || job.own_worker->err().is_open());
  for (LeftRunning* told : {&job.left_running, &left}) {
    if (!told->empty()) job.run.left_running.push_back(std::move(*told));
  }
}

void Runs::take_changes(Job& job) {
  job.run.left_ms = 0;
  if (job.run.started_at_ms == 0) return;
  // Killed, and nobody knew that it was to be: for memory it may be told to end while it is dying.
  const bool ran_out = job.run.error && job.run.error->cause == Cause::kOom;
  const bool was_killed = job.run.exit_code == 128 + SIGKILL && (!job.stop_cause || ran_out);
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
  if (job.had_company) add_note(job.run, note_of_company(changes > 0, !job.run.network.empty()));
}

void Runs::finish(const JobPointer& job) {
  if (!jobs_.contains(job->run.run_id)) return;  // the box, or a client, was quicker to end it
  job->run.trace.mark(Hop::kDone);
  stopper_.forget(*job);
  stopper_.end_what_it_started(*job);
  if (job->request.restarts_on_wake && !job->starts_anew) kept_runs_.forget(job->run.run_id);
  drop_parts(*job);
  if (job->run.started_at_ms != 0 && context_.oom_kills() > job->oom_kills_before) {
    oom_kills_.tell_all(context_.oom_kills());
  }
  if (context_.catch_up_with_network) context_.catch_up_with_network();
  if (job->run.error && job->run.error->cause == Cause::kPids) {
    // Processes were refused to it: by what others had taken, where that is most.
    if (!job->stop_cause) (void)end_left_behind_where_most(context_.spec.limits.processes / 2);
    // Where nothing else is on, what is there now is of earlier runs to the next one.
    if (jobs_.size() == 1) left_behind_.remember_all_but(workers());
  }
  Met met{.left_filled_table = job->left_filled_table};
  if (job->stop_cause == Cause::kDisk) met.disk_limit = job->disk_limit;
  add_remarks(job->run, context_.spec, met, job->out->tail(), job->err->tail());
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
  context_.ends(id);
  context_.changed(id);
  // Whoever waits for the run has been answered by then.
  context_.loop.after(milliseconds(0),
                      [kept = std::weak_ptr(kept_outputs_), job] { count_outputs(kept, *job); });
  give_interpreter_on(job);
  if (jobs_.empty()) {
    context_.loop.after(milliseconds(0), [fd = context_.runs_fd] { prepare_job_files(fd); });
  }
}

// The next run has it once the signals that have stopped this one are through.
void Runs::give_interpreter_on(const JobPointer& ended) {
  const Interpreters::Key interpreter = Interpreters::key_of(ended->run);
  Interpreters::Slot& slot = interpreters_.slot(interpreter);
  if (slot.current == ended) {
    slot.current.reset();
    if (ended->stop_cause && slot.worker) {
      slot.interrupted = true;
      context_.init.after_signals([this, interpreter] {
        Interpreters::Slot* const found = interpreters_.find(interpreter);
        if (found == nullptr) return;  // its context was ended
        found->interrupted = false;
        start_next(interpreter);
      });
    }
  }
  start_next(interpreter);
  if (interpreter.language == Language::kBash && !ended->run.background) {
    next_shell_.prepare_soon();
  }
  if (slot.is_over) context_.loop.after(milliseconds(0), [this] { forget_ended_contexts(); });
}

base::Result<std::unique_ptr<Worker>> Runs::start_worker(const Job& job, RunWorkers::For whom) {
  const bool own = whom != RunWorkers::For::kManyRuns;
  const CurrentJob current = jobs_of_worker(job, own);
  Worker::Events events;
  events.message = [this, current](const nlohmann::json& message, const std::string& blob) {
    on_message(current(), message, blob);
  };
  events.broken = [current](const std::string& why) {
    if (const JobPointer hears = current()) add_note(hears->run, "interpreter: " + why);
  };
  const Interpreters::Key interpreter = Interpreters::key_of(job.run);
  KeptState* const kept = own ? nullptr : interpreters_.kept_state_of(interpreter);
  RunWorkers::Started started = TRY(workers_.start(job, whom, kept, std::move(events)));
  if (kept != nullptr) interpreters_.slot(interpreter).tells_waking = started.reads_state;
  left_behind_.forget(started.worker->pid());
  return std::move(started.worker);
}

void Runs::take_output_of(Job& job) {
  const auto tell = [this, id = job.run.run_id] { on_output(id); };
  job.worker->out().set_target(job.out, tell);
  job.worker->err().set_target(job.err, tell);
}

// In another process, where the one that had waited for the code was killed before it came to it.
bool Runs::begin_again(Job& job) {
  if (job.stop_cause || job.own_worker->has_read_code() || job.request.code.empty()) return false;
  auto worker = start_worker(job, RunWorkers::For::kOneRun);
  if (!worker.ok()) return false;
  retire(std::move(job.own_worker));
  job.own_worker = std::move(worker).value();
  job.worker = job.own_worker.get();
  take_output_of(job);
  return true;
}

void Runs::retire(std::unique_ptr<Worker> worker) {
  RunWorkers::retire(context_.loop, std::move(worker));
}

void Runs::start_ahead() { starts_ahead_.start(); }

void Runs::start_ahead(Language language) {
  if (language == Language::kBash) return next_shell_.prepare_to_stay();
  Interpreters::Slot& slot = interpreters_.slot({interpreter_of(language), ""});
  if (slot.worker) return;
  Job nobodys;
  nobodys.run.language = language;
  auto worker = start_worker(nobodys, RunWorkers::For::kManyRuns);
  if (worker.ok()) slot.worker = std::move(worker).value();
}

void Runs::end_unused_soon() { starts_ahead_.end_unused_soon(); }

void Runs::end_unused(Language interpreter) {
  if (interpreter == Language::kBash) return next_shell_.drop();
  Interpreters::Slot& slot = interpreters_.slot({interpreter, ""});
  if (!slot.worker) return;
  slot.worker->kill_group();
  retire(std::move(slot.worker));
}

void Runs::end_was_told() { next_shell_.end_was_told(); }

std::optional<std::string> Runs::directory_of_next_shell() {
  const Interpreters::Slot& slot = interpreters_.slot({Language::kBash, ""});
  if (slot.current || held_ || closed_) return std::nullopt;
  if (context_.spec.limits.processes < kNextShellPidsMin) return std::nullopt;
  return slot.directory;
}

std::size_t Runs::interpreters() const {
  return interpreters_.processes() + (next_shell_.is_there() ? 1 : 0);
}

std::string Runs::what_cannot_be_stored() const {
  if (context_.kept_shell == nullptr) return "nothing of it is stored (autosave_mb)";
  if (!jobs_.empty()) {
    const std::string& id = jobs_.begin()->first;
    return (is_in_terminal(id) ? "a terminal is open (" : "a run is not over (") + id + ")";
  }
  if (!contexts().empty()) return "its contexts have interpreters of their own";
  if (!next_note_.is_empty()) return Interpreters::kUnheard;
  if (std::string held_by = interpreters_.what_is_not_stored(); !held_by.empty()) return held_by;
  return other_process(context_.init, workers());
}

void Runs::store(std::function<void(const std::string& held_by)> then) {
  if (context_.kept_shell == nullptr) return then(what_cannot_be_stored());
  context_.kept_shell->store();
  interpreters_.store(context_.spec.stored_mb << 20,
                      [this, then = std::move(then)](const std::string& unstored) {
                        const std::string left = what_cannot_be_stored();
                        if (!left.empty()) return then(left);
                        const bool is_held = !unstored.empty();
                        if (is_held || context_.kept_shell->is_stored()) return then(unstored);
                        then("what bash knows is not stored");
                      });
}

std::map<std::string, RunContext> Runs::contexts() const { return interpreters_.contexts(); }

base::Status Runs::end_context(const std::string& context) {
  Interpreters::Slot* const slot = interpreters_.find_context(context);
  if (slot == nullptr) {
    return base::error(Error::Kind::kNotFound, "there is no context " + context);
  }
  slot->is_over = true;
  for (const JobPointer& job : std::deque<JobPointer>(slot->queue)) TRY(cancel(job->run.run_id));
  if (slot->current) stopper_.stop(*slot->current, Cause::kCancelled);
  forget_ended_contexts();
  return base::done();
}

void Runs::forget_ended_contexts() {
  for (std::unique_ptr<Worker>& worker : interpreters_.take_ended_contexts()) {
    worker->kill_group();
    retire(std::move(worker));
  }
}

base::Result<Runs::RunInput> Runs::input_of(const std::string& run_id) {
  const auto found = jobs_.find(run_id);
  if (found == jobs_.end()) {
    const bool has_been = find(run_id) != nullptr;
    return base::error(Error::Kind::kNotFound,
                       has_been ? "this run has ended" : "no such run in this box");
  }
  const Job& job = *found->second;
  if (job.request.input == Input::kNothing) {
    return base::error(Error::Kind::kInvalid, "this run was started without a standard input");
  }
  if (job.worker == nullptr || job.worker->input_fd() < 0) {
    return base::error(Error::Kind::kNotFound, "the standard input of this run was closed");
  }
  return RunInput{job.worker->input_fd(), job.request.input == Input::kTerminal};
}

base::Status Runs::end_input(const std::string& run_id) {
  const RunInput input = TRY(input_of(run_id));
  if (input.is_terminal) {
    return base::error(Error::Kind::kInvalid,
                       "the standard input of this run is a terminal: send it the key Ctrl-D");
  }
  jobs_.at(run_id)->worker->end_input();
  return base::done();
}

bool Runs::is_in_terminal(const std::string& run_id) const {
  const auto found = jobs_.find(run_id);
  return found != jobs_.end() && found->second->request.input == Input::kTerminal;
}

// Nobody in the box can tell it to go on, so this does. Who stops it again and again would do the
// same to whatever starts next.
void Runs::process_stopped(pid_t pid) {
  if (stopper_.is_frozen()) return;
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

void Runs::set_frozen(bool frozen) {
  if (stopper_.is_frozen() == frozen) return;
  stopper_.set_frozen(frozen);
  for (auto& [id, job] : jobs_) frozen ? stopper_.hold(*job) : stopper_.go_on(*job);
}

void Runs::release() {
  if (!held_) return;
  held_ = false;
  for (const JobPointer& job : std::exchange(held_starts_, {})) try_again(job);
  for (const auto& [interpreter, slot] : interpreters_.all()) start_next(interpreter);
}

void Runs::stop_all(Cause cause, DiskLimit disk_limit) {
  for (auto& [id, job] : jobs_) {
    const bool stops = !job->stop_cause && job->run.status == RunStatus::kRunning;
    if (stops) job->disk_limit = disk_limit;
    stopper_.stop(*job, cause);
  }
}

std::set<pid_t> Runs::workers() const {
  std::set<pid_t> workers = interpreters_.pids();
  for (const auto& [id, job] : jobs_) {
    if (job->own_worker) workers.insert(job->own_worker->pid());
  }
  if (next_shell_.is_there()) workers.insert(next_shell_.pid());
  return workers;
}

LeftProcesses Runs::going_on() const {
  if (files_end_too_) return {};
  return processes_going_on(context_.init, interpreters_.pids(), workers());
}

void Runs::end_left_behind() { left_behind_.end_all_but(workers()); }

void Runs::tell_of_left_processes(Job& job) {
  job.left_filled_table = true;
  add_note(job.run, note_of_left_processes(context_.spec.limits));
}

bool Runs::end_left_behind_where_most(std::int64_t least) {
  if (stopper_.is_frozen()) return false;  // nothing ends now, and pid 1 hears nothing
  std::map<pid_t, std::int64_t> began;
  for (const auto& [id, job] : jobs_) {
    if (job->worker != nullptr) began[job->worker->pid()] = job->started_process_time;
  }
  if (!left_behind_.end_where_most(least, workers(), std::move(began))) return false;
  context_.left_ended();
  for (auto& [id, job] : jobs_) {
    if (job->run.status == RunStatus::kQueued) continue;
    tell_of_left_processes(*job);
  }
  return true;
}

// Processes that runs left behind, or zombies that an interpreter keeps, may hold every place in
// the process table: then a session that does nothing else gives them up for the run that is to
// start.
bool Runs::make_room(const JobPointer& job) {
  if (jobs_.size() > 1 || job->start_attempts == kStartAttemptsMax) return false;
  const int attempt = job->start_attempts++;
  if (attempt == kAttemptsWithLeftBehind) {
    end_left_behind();
    tell_of_left_processes(*job);
  } else if (attempt == kAttemptsWithInterpreters) {
    interpreters_.lose_all("ended to make room in the session's process table");
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

std::string Runs::fate_of_all() const { return interpreters_.fate_of_all(); }

void Runs::tell_what_was_lost(Job& job) {
  // Nobody may ever look at what it says.
  if (!job.request.in_place_of.empty())
    return add_note(job.run, "started anew in place of " + job.request.in_place_of);
  add_note(job.run, next_note_.take());
  if (job.request.background) return;
  add_note(job.run, std::exchange(interpreters_.slot(Interpreters::key_of(job.run)).loss, ""));
  if (job.run.language == Language::kBash) tell_of_shell(job);
}

void Runs::tell_of_shell(Job& job) {
  if (context_.kept_shell == nullptr) return;
  const std::string said = context_.kept_shell->take_lack();
  if (said.empty()) return;
  next_note_.count(said);
  add_note(job.run, said);
}

// A later interpreter in the same box has all of the budget.
json Runs::with_short_waking(const Job& job, json done) {
  const Interpreters::Key interpreter = Interpreters::key_of(job.run);
  if (std::exchange(interpreters_.slot(interpreter).has_woken, true)) next_note_.begin_anew();
  return next_note_.with_short_waking(std::move(done),
                                      interpreters_.count_to_tell_waking(interpreter.language));
}

void Runs::end_processes() {
  for (auto& [interpreter, slot] : interpreters_.all()) slot.ended_by_us = slot.worker != nullptr;
  context_.init.signal_all(SIGKILL);
}

// Something else has killed it, or code that it still ran: without a word, the next run would find
// its variables gone and be told that they were kept.
void Runs::tell_of_idle_end(const Interpreters::Key& interpreter, int wait_status) {
  const std::int64_t oom_kills = context_.oom_kills();
  std::string how = "was ended";
  if (WIFEXITED(wait_status)) {
    how = "exited with code " + std::to_string(WEXITSTATUS(wait_status));
  } else if (oom_kills_.take_untold(oom_kills)) {
    how = "was killed" + because_of_memory(context_.spec.limits);
  } else if (WIFSIGNALED(wait_status)) {
    how = "was killed by signal " + std::to_string(WTERMSIG(wait_status));
  }
  const std::string what = "the interpreter of " + std::string(name_of(interpreter.language)) +
                           " " + how + " while it ran nothing" +
                           interpreters_.fate_of_variables(interpreter);
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

void Runs::tell_next(const std::string& what) { next_note_.tell(what); }

// A run whose processes are not ended may wait for one that was, for ever; but not where that was
// another run's, which has said so.
void Runs::stop_after_oom_kill() {
  if (!oom_kills_.take_unexplained(context_.oom_kills())) return;
  std::vector<Job*> foreground;
  std::vector<Job*> background;
  for (auto& [id, job] : jobs_) {
    if (job->run.status != RunStatus::kRunning) continue;
    if (context_.oom_kills() <= job->oom_kills_before) continue;  // started since
    (job->request.background ? background : foreground).push_back(job.get());
  }
  if (foreground.empty() && background.size() == 1) foreground = background;
  if (foreground.empty() && background.empty() && oom_kills_.take_untold(context_.oom_kills())) {
    tell_next("what an earlier run had left running, or a part of it, was killed" +
              because_of_memory(context_.spec.limits));
  }
  for (Job* job : foreground) stopper_.stop(*job, Cause::kOom);
}

void Runs::network_used(const json& event) {
  std::vector<Run*> on;
  for (const auto& [id, job] : jobs_) {
    if (job->run.started_at_ms != 0) on.push_back(&job->run);
  }
  network_.add(event, on);
}

bool Runs::any_with_deadline(bool deadline) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [deadline](const auto& entry) {
    return (entry.second->request.timeout_seconds > 0) == deadline;
  });
}

void Runs::end_all(Cause cause, const std::string& why) {
  closed_ = true;
  for (auto& [interpreter, slot] : interpreters_.all()) slot.queue.clear();
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
