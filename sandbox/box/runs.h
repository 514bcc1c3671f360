// The runs of one box: queues, interpreters, deadlines, records. One thread.
//
// Each language has one live interpreter, and one for each context that runs name, and runs its
// foreground runs in order; background runs have a process of their own. A run that must end is
// interrupted first, so that variables survive, and killed with its process group when it does not
// listen.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sandbox/box/ending.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/file_changes.h"
#include "sandbox/box/init_process.h"
#include "sandbox/box/job.h"
#include "sandbox/box/kept_outputs.h"
#include "sandbox/box/kept_shell.h"
#include "sandbox/box/kept_runs.h"
#include "sandbox/box/kept_state.h"
#include "sandbox/box/left_streams.h"
#include "sandbox/box/profile.h"
#include "sandbox/box/telemetry.h"
#include "sandbox/box_spec.h"

namespace sandbox::box {

inline constexpr std::size_t kLeftStreamsMax = 256;

class Runs {
 public:
  // All that is told of one waking of a session, by whichever of its languages.
  static constexpr std::size_t kWakingCharactersMost = 300;

  struct Context {
    EventLoop& loop;
    InitProcess& init;
    const BoxSpec& spec;
    int session_fd;                                // borrowed: the session's directory
    int runs_fd;                                   // borrowed: the directory of records
    int workspace_fd;                              // borrowed
    int home_fd = -1;                              // borrowed
    std::function<std::int64_t()> oom_kills = {};  // so far
    // Or how often the limit was seen reached, so far.
    std::function<std::int64_t()> pids_refused = {};
    std::function<std::int64_t()> memory_peak_bytes = {};         // 0: not known
    std::function<bool()> disk_used_up = {};                      // or the file system has no room
    std::function<void(const std::string& run_id)> changed = {};  // output, status or end
    std::function<void(const Run& run)> begins = {};
    std::function<void()> catch_up_with_network = {};  // network_used() hears all until now
    // By language, borrowed; none: nothing outlives the processes, and kept_shell is null.
    std::map<Language, KeptState*> kept_states = {};
    KeptShell* kept_shell = nullptr;  // of bash
  };

  explicit Runs(Context context);
  ~Runs();

  // kLimit when too many wait or run, kUnsupported when the host has no such interpreter.
  base::Status submit(RunRequest request);
  // Starts the interpreters that the specification names, before a run asks for them. When one
  // cannot start, its first run says why; one that no run wants ends soon after somebody has the
  // session (end_unused_soon()).
  void start_ahead();
  // Null when this box never had it, or long ago.
  [[nodiscard]] const Run* find(const std::string& run_id);
  base::Status cancel(const std::string& run_id);
  // `fd` writes to the standard input of a run that is on, and has one. It is borrowed.
  struct RunInput {
    int fd = -1;
    bool is_terminal = false;
  };
  base::Result<RunInput> input_of(const std::string& run_id);
  base::Status end_input(const std::string& run_id);
  // kNotFound: no run has named it, or it was ended.
  base::Status end_context(const std::string& context);
  [[nodiscard]] std::map<std::string, RunContext> contexts() const;
  // Returns whether the run has a terminal, which somebody sits in front of.
  [[nodiscard]] bool is_in_terminal(const std::string& run_id) const;

  [[nodiscard]] std::vector<const Run*> active() const;  // queued and running
  [[nodiscard]] bool busy() const { return !jobs_.empty(); }
  // Returns whether there is a run that has a deadline, or one that has none.
  [[nodiscard]] bool any_with_deadline(bool deadline) const;
  // Returns how many processes stay when no run is on.
  [[nodiscard]] std::size_t interpreters() const;

  // Stores what the interpreters know that run nothing, for as long as it takes. `then` hears later
  // what would be lost if all processes of the session ended: why it cannot be stored, or nothing.
  void store(std::function<void(const std::string& held_by)> then);
  // Takes no more runs, as the box is about to end.
  void close() { closed_ = true; }
  // Names what would be lost with the processes and nothing can store: what runs have left running,
  // contexts, an interpreter of a language whose state is not stored. Empty: there is none.
  [[nodiscard]] std::string what_cannot_be_stored() const;

  // Ends every running run for this cause.
  void stop_all(Cause cause);
  // Ends what earlier runs have left behind; interpreters and background runs stay.
  void end_left_behind();
  // Ends every process of the box. Whoever calls it tells what is lost.
  void end_processes();
  // The kernel killed something of the session: the foreground runs that were on end for it, and so
  // does a background run that was alone. Which one it was of, the kernel does not tell.
  void stop_after_oom_kill();
  // Says what becomes of variables when all processes of the session end.
  [[nodiscard]] std::string fate_of_all() const;
  // Adds `what` to the note of all runs that are on.
  void note_all(const std::string& what);
  // Adds `what`, which happened while no run was on, to the note of the next one.
  void tell_next(const std::string& what);
  // Counts what hutch-egress tells (egress_protocol.h) for all runs that are on, since it knows of
  // none.
  void network_used(const nlohmann::json& event);
  // A server knows of a run's end: what is done ahead of the next one no longer delays that.
  void end_was_told();
  // Nothing starts meanwhile. Runs that are on go on, with all their limits.
  void hold() { held_ = true; }
  void release();
  // While the box is frozen deadlines do not pass, and nobody is killed for not listening.
  void set_frozen(bool frozen);
  // Somebody has this session: interpreters that were started ahead for a language
  // that it has no runs in end soon.
  void end_unused_soon();
  // Files may have been written from outside: look again before the next run.
  void files_touched() { files_touched_ = true; }

  void process_exited(pid_t pid, int wait_status);
  void process_stopped(pid_t pid);
  // Makes end_all() say that the session ends, too, with its files.
  void files_end_too() { files_end_too_ = true; }
  // The box has ended: every run ends now. Those that were being stopped keep that cause.
  void end_all(Cause cause, const std::string& why);

 private:
  using JobPointer = std::shared_ptr<Job>;
  using CurrentJob = std::function<JobPointer()>;
  struct Interpreter {
    Language language;    // interpreter_of()
    std::string context;  // empty: the shared one
    auto operator<=>(const Interpreter&) const = default;
  };
  struct Slot {
    std::unique_ptr<Worker> worker;
    std::deque<JobPointer> queue;
    JobPointer current;
    std::int64_t execution_count = 0;  // of runs since its interpreter started
    bool interrupted = false;          // a signal may be on its way that no later run must get
    bool ended_by_us = false;          // its loss is told, or is nobody's
    std::string loss;                  // for the note of its next run
    std::string directory;             // in which it starts
    bool is_over = false;              // of a context that was ended
    bool holds_state = false;          // that goes with its process, as far as its runner says
    bool tells_waking = false;         // its next run says what is back of what was stored
    bool has_woken = false;
  };

  static Interpreter interpreter_of_run(const Run& run);
  base::Status check_context(const RunRequest& request) const;
  void forget_ended_contexts();
  void start_next(const Interpreter& interpreter);
  void begin(const JobPointer& job);
  [[nodiscard]] bool make_room(const JobPointer& job);
  void try_again(const JobPointer& job);
  base::Status start_process(Job& job);
  void start_ahead(Language language);
  enum class For { kManyRuns, kOneRun, kNextRun };
  base::Result<std::unique_ptr<Worker>> start_worker(const Job& job, For whom);
  // Returns what stores its state, or null where nothing does.
  [[nodiscard]] KeptState* kept_state_of(const Interpreter& interpreter) const;
  [[nodiscard]] bool has_state_of(const Interpreter& interpreter) const;
  // Starts the shell of the next run, which waits for its code.
  void prepare_next_worker();
  void prepare_next_worker_soon();
  [[nodiscard]] std::unique_ptr<Worker> take_next_worker(const Job& job);
  void drop_next_worker();
  [[nodiscard]] bool next_worker_exited(pid_t pid);
  bool begin_again(Job& job);
  void take_output_of(Job& job);
  void on_message(const JobPointer& job, const nlohmann::json& message, const std::string& blob);
  void on_output(const std::string& run_id);
  void meet_others(Job& job);
  [[nodiscard]] std::string kept_elsewhere(const Job& job) const;
  [[nodiscard]] std::set<pid_t> workers() const;
  void tell_what_goes_on(Job& job);
  void take_changes(Job& job);
  void stop(Job& job, Cause cause);
  void end_what_it_started(const Job& job);
  void interrupt_children(Job& job);
  void escalate(const std::string& run_id);
  void arm_escalation(Job& job, int step, std::int64_t milliseconds);
  void hold_times(Job& job);
  void release_times(Job& job);
  void arm_deadline(Job& job, std::int64_t milliseconds);
  static std::int64_t left_ms(const Job& job);
  [[nodiscard]] bool is_waking(const Job& job) const;
  void tell_who_is_read(const Job& job);
  void finish(const JobPointer& job);
  void remember(const Run& run);
  void retire(std::unique_ptr<Worker> worker);
  void lose_interpreters(const std::string& why);
  [[nodiscard]] std::string fate_of_variables(const Interpreter& interpreter) const;
  void tell_what_was_lost(Job& job);
  void tell_of_shell(Job& job);
  [[nodiscard]] nlohmann::json with_short_waking(const Interpreter& interpreter,
                                                 nlohmann::json done);
  void tell_of_idle_end(const Interpreter& interpreter, int wait_status);
  void explain_kill(bool by_us, int wait_status);
  [[nodiscard]] Observed observe(const Job& job) const;
  [[nodiscard]] CurrentJob jobs_of_worker(const Job& job, bool own);

  Context context_;
  Profiles profiles_;
  TelemetryHosts telemetry_hosts_;
  const KeptRuns kept_runs_;
  FileChanges file_changes_;
  std::shared_ptr<KeptOutputs> kept_outputs_;  // also of what runs have left behind
  const std::vector<HostFolder> looked_into_;  // for what the host's programs obey
  LeftStreams left_streams_{kLeftStreamsMax};
  std::map<Interpreter, Slot> slots_;
  std::unique_ptr<Worker> next_worker_;  // of bash
  std::int64_t next_worker_state_ = 0;   // bash_state_number(), as it has loaded it
  std::string next_worker_directory_;
  EventLoop::TimerId next_worker_start_ = 0;
  EventLoop::TimerId next_worker_end_ = 0;
  std::set<Language> unused_;  // interpreters that were started ahead
  EventLoop::TimerId unused_end_ = 0;
  EventLoop::TimerId ahead_start_ = 0;
  std::unordered_map<std::string, JobPointer> jobs_;  // not ended yet, by run_id
  std::int64_t bytes_between_runs_ = 0;  // of the network, as they are carried: the next run tells
  std::deque<Run> ended_;
  std::string note_for_next_;
  std::size_t waking_left_ = kWakingCharactersMost;  // for what the session's waking has to tell
  bool closed_ = false;                              // the box has ended: nothing more is taken
  bool files_touched_ = true;
  bool files_end_too_ = false;
  int stops_ = 0;
  std::int64_t oom_kills_told_ = 0;
  // As many of them as interpreters and processes of runs were, whose ends say so.
  std::int64_t oom_kills_explained_ = 0;
  std::set<std::pair<std::int64_t, pid_t>> told_left_;  // the newest of tell_what_goes_on()
  bool held_ = false;
  bool frozen_ = false;
  std::vector<JobPointer> held_starts_;  // that were to be tried again
};

}  // namespace sandbox::box
