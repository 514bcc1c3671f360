// The processes that one run of an interpreter has started. proc_pid_stat(5).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sandbox/box/init_process.h"
#include "sandbox/left_running.h"

namespace sandbox::box {

// Returns the time now, in the unit in which the kernel keeps the start of processes.
std::int64_t process_clock();

// Ends what the interpreter `worker` (its pid inside the box) has started since `since` and what is
// still in its session: not what earlier runs have left behind, nor what has called setsid(2) to
// outlive its run.
void end_processes_since(const InitProcess& init, pid_t worker, std::int64_t since);

// Sends SIGINT to the processes that end_processes_since() would end, of which some wait for
// others.
void interrupt_processes_since(const InitProcess& init, pid_t worker, std::int64_t since);

// Names a process that the code has started and nobody waits for any more, by its pid inside the
// box and its command line as it shows it, in short.
struct LeftProcess {
  // Where there is more than one, a subshell comes first, and then what it waits for. Whoever ends
  // all of them leaves neither the rest of a loop nor a server.
  std::vector<pid_t> pids;
  std::int64_t began = 0;  // the first of them; process_clock()
  std::string command;
};
struct LeftSince {
  std::int64_t began;            // process_clock()
  std::set<pid_t> workers;       // their pids inside the box: none of what is meant
  std::optional<pid_t> session;  // only what is still in it; nothing: all
  std::optional<pid_t> waiting;  // one of the workers, whose children are meant as well
};
struct LeftProcesses {
  std::vector<LeftProcess> named;  // at most LeftRunning::kProcessesMax
  std::size_t more = 0;            // beside these, as far as a short look tells
};
// Returns the children of init, and of `since.waiting`, that began since then.
LeftProcesses left_processes(const InitProcess& init, const LeftSince& since);

// Returns what runs have started that goes on: children of init and of `interpreters` that are none
// of `workers` (their pids inside the box).
LeftProcesses processes_going_on(const InitProcess& init, const std::set<pid_t>& interpreters,
                                 const std::set<pid_t>& workers);

// Returns the inode numbers of the files of `device` that `worker` (its pid inside the box), and
// what is in its session, have open to write to; as far as a short look tells.
std::set<std::uint64_t> files_being_written(const InitProcess& init, pid_t worker, dev_t device);

// Names a process in the box that is neither init, nor one of `workers` (their pids inside the
// box), nor hutch's own; empty where there is none. One that has ended counts for nothing. A tree
// too large for a short look has others.
std::string other_process(const InitProcess& init, const std::set<pid_t>& workers);

// Tells what runs that are on have started from what earlier ones have left behind. What has called
// setsid(2) since then counts to them, too.
struct RunsThatAreOn {
  std::set<pid_t> workers;              // their pids inside the box, also of those that run nothing
  std::map<pid_t, std::int64_t> began;  // when the run of each began; process_clock()
  std::set<pid_t> left_sessions;        // that are known to be of earlier runs
};
struct LeftEnded {
  bool ended = false;
  std::set<pid_t> sessions;  // session ids (setsid(2)) of all that was left
};
// Lets nothing in the box go on, or all; returns whether that is so now. Empty where no freezer is.
using Freeze = std::function<bool(bool frozen)>;
// Ends what earlier runs have left behind where it has `least` processes and threads, and more than
// what is on. It stands still meanwhile, where `freeze` can do that: of what forks and ends all the
// time, a look at what goes on lacks much.
LeftEnded end_left_where_most(InitProcess& init, const Freeze& freeze, const RunsThatAreOn& on,
                              std::int64_t least);

// Returns the sessions, by their numbers inside the box, that have processes and none of `workers`
// leads; as far as a short look tells.
std::set<pid_t> sessions_of_others(const InitProcess& init, const std::set<pid_t>& workers);

// Ends every process of the box but `workers` (their pids inside the box) and init.
void end_all_processes_but(const InitProcess& init, const std::set<pid_t>& workers);

}  // namespace sandbox::box
