// The runs of one box, from submit to record. One thread.
//
// Each language has one live interpreter, and one for each context that runs name
// (interpreters.h), and runs its foreground runs in order; background runs have a process of their
// own. A run that must end is interrupted first, so that variables survive, and killed with its
// process group when it does not listen (run_stopper.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
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
#include "sandbox/box/interpreters.h"
#include "sandbox/box/job.h"
#include "sandbox/box/kept_outputs.h"
#include "sandbox/box/kept_runs.h"
#include "sandbox/box/kept_shell.h"
#include "sandbox/box/kept_state.h"
#include "sandbox/box/left_behind.h"
#include "sandbox/box/left_streams.h"
#include "sandbox/box/network_tally.h"
#include "sandbox/box/next_note.h"
#include "sandbox/box/next_shell.h"
#include "sandbox/box/oom_kills.h"
#include "sandbox/box/run_processes.h"
#include "sandbox/box/run_stopper.h"
#include "sandbox/box/run_workers.h"
#include "sandbox/box/starts_ahead.h"
#include "sandbox/box_spec.h"

namespace sandbox::box {

inline constexpr std::size_t kLeftStreamsMax = 256;

class Runs {
 public:
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
    std::function<std::int64_t()> memory_peak_bytes = {};  // 0: not known
    Freeze freeze = {};
    std::function<bool()> disk_used_up = {};                      // or the file system has no room
    std::function<void(const std::string& run_id)> changed = {};  // output, status or end
    std::function<void(const Run& run, bool restarts_on_wake)> begins = {};
    // The next run is not told of what this one has written.
    std::function<void(const std::string& run_id)> ends = [](const std::string&) {};
    std::function<void()> left_ended = [] {};          // by end_left_behind_where_most()
    std::function<void()> catch_up_with_network = {};  // network_used() hears all until now
    // They are by language, and borrowed. Without one nothing outlives the processes, and
    // kept_shell is null.
    std::map<Language, KeptState*> kept_states = {};
    KeptShell* kept_shell = nullptr;  // for bash; borrowed
  };

  explicit Runs(Context context);
  ~Runs();

  // Returns what runs have started that goes on beside them and the interpreters, as far as a short
  // look tells; nothing where the files of the session end, too.
  [[nodiscard]] LeftProcesses going_on() const;

  // Fails with kLimit when too many wait or run, with kUnsupported when the host has no such
  // interpreter.
  base::Status submit(RunRequest request);
  // Starts the interpreters that the specification names, before a run asks for them. When one
  // cannot start, its first run says why; one that no run wants ends soon after somebody has the
  // session (end_unused_soon()).
  void start_ahead();
  // Returns null when this box never had it, or long ago.
  [[nodiscard]] const Run* find(const std::string& run_id);
  base::Status cancel(const std::string& run_id);
  // `fd` writes to the standard input of a run that is on, and has one. It is borrowed.
  struct RunInput {
    int fd = -1;
    bool is_terminal = false;
  };
  base::Result<RunInput> input_of(const std::string& run_id);
  base::Status end_input(const std::string& run_id);
  // Fails with kNotFound when no run has named it, or it was ended.
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

  // Ends every running run for this cause. `disk_limit` says which, where that is the disk.
  void stop_all(Cause cause, DiskLimit disk_limit = DiskLimit::kRoomOfHost);
  // Ends what earlier runs have left behind; interpreters and background runs stay.
  void end_left_behind();
  // Does so where that has `least` processes and threads, and more than what runs that are on have;
  // these are told. Returns whether it did, so that there is room again.
  bool end_left_behind_where_most(std::int64_t least);
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
  // Between the two no run starts. Runs that are on go on, with all their limits.
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
  using JobPointer = Interpreters::JobPointer;
  using CurrentJob = std::function<JobPointer()>;

  [[nodiscard]] JobPointer job_of(const std::string& run_id) const;  // null: it has ended
  void forget_ended_contexts();
  void start_next(const Interpreters::Key& interpreter);
  void begin(const JobPointer& job);
  [[nodiscard]] bool make_room(const JobPointer& job);
  void tell_of_left_processes(Job& job);
  void try_again(const JobPointer& job);
  base::Status start_process(Job& job);
  void start_ahead(Language language);
  void end_unused(Language interpreter);
  // Returns nothing while no shell may be started ahead (NextShell::Of).
  [[nodiscard]] std::optional<std::string> directory_of_next_shell();
  base::Result<std::unique_ptr<Worker>> start_worker(const Job& job, RunWorkers::For whom);
  bool begin_again(Job& job);
  void take_output_of(Job& job);
  void on_message(const JobPointer& job, const nlohmann::json& message, const std::string& blob);
  void on_output(const std::string& run_id);
  void meet_others(Job& job);
  [[nodiscard]] std::set<pid_t> workers() const;
  void tell_what_goes_on(Job& job);
  void take_changes(Job& job);
  void finish(const JobPointer& job);
  void give_interpreter_on(const JobPointer& ended);
  void remember(const Run& run);
  void retire(std::unique_ptr<Worker> worker);
  void tell_what_was_lost(Job& job);
  void tell_of_shell(Job& job);
  [[nodiscard]] nlohmann::json with_short_waking(const Job& job, nlohmann::json done);
  void tell_of_idle_end(const Interpreters::Key& interpreter, int wait_status);
  // Only an end that hutch did not bring about explains a kill.
  void explain_kill(bool by_us, int wait_status);
  [[nodiscard]] Observed observe(const Job& job) const;
  [[nodiscard]] CurrentJob jobs_of_worker(const Job& job, bool own);

  Context context_;
  RunWorkers workers_;
  const KeptRuns kept_runs_;
  FileChanges file_changes_;
  std::shared_ptr<KeptOutputs> kept_outputs_;  // also of what runs have left behind
  const std::vector<HostFolder> looked_into_;  // for what the host's programs obey
  LeftStreams left_streams_{kLeftStreamsMax};
  LeftBehind left_behind_;
  Interpreters interpreters_;
  NextShell next_shell_;
  StartsAhead starts_ahead_;
  RunStopper stopper_;
  NetworkTally network_;
  NextNote next_note_;
  OomKills oom_kills_;
  std::unordered_map<std::string, JobPointer> jobs_;  // not ended yet, by run_id
  std::deque<Run> ended_;
  bool closed_ = false;  // the box has ended: nothing more is taken
  bool files_touched_ = true;
  bool files_end_too_ = false;
  int stops_ = 0;
  std::int64_t pids_refused_seen_ = 0;  // when the last run began
  bool held_ = false;
  std::vector<JobPointer> held_starts_;  // that were to be tried again
};

}  // namespace sandbox::box
