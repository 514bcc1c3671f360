#include "sandbox/box/run_processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "sandbox/box/process_tree.h"
#include "sandbox/files/box_path.h"

namespace sandbox::box {
namespace {

constexpr int kRoundsMax = 3;
constexpr std::size_t kCommandBytesMax = 512;
constexpr std::size_t kCommandBytesShown = 80;
constexpr int kSubshellsDeep = 4;
constexpr std::int64_t kJustForked = 2;  // in units of process_clock()
// As the profile of bash starts it: the text that follows is none of the user's.
constexpr std::string_view kShell = "/bin/bash --noprofile --norc -c {";
// In the command line of the browser that draws pictures, of runners/python/browser.py.
constexpr std::string_view kOwnBrowser = " --user-data-dir=/tmp/.hutch-browser-";
// Hutch's own for SQL, which a run in another language may be the first to need, and the copy of
// Python that has its DataFrames for SQL (runners/python/frame_server.py).
constexpr std::string_view kOwnSql = "/runners/sql/runner.py";
constexpr std::string_view kOwnFrames = "hutch-frames";
// It stores what Python knows (runners/python/snapshot_writer.py).
constexpr std::string_view kOwnSnapshot = "hutch-snapshot";
// Libraries of Python keep them for themselves, as the runner knows (runners/python/children.py).
constexpr std::array<std::string_view, 3> kHelpers = {"multiprocessing.resource_tracker",
                                                      "multiprocessing.forkserver", "loky.backend"};
// A look that only finds out what to say has this much.
constexpr base::WorkBudget::Bounds kShortLook{.steps = 4'096,
                                              .cpu_time = std::chrono::milliseconds(20)};

// The last number on a line of /proc/<pid>/status that lists one for each pid namespace: the one
// inside the box.
pid_t innermost(const std::string& line, std::size_t name_size) {
  std::istringstream numbers(line.substr(name_size));
  pid_t last = -1;
  for (pid_t number = 0; numbers >> number;) last = number;
  return last;
}

struct Stat {
  std::int64_t started = 0;
  bool is_only_forked = false;  // and is no program of its own yet
};

struct Process {
  pid_t pid = -1;  // these as the box numbers them
  pid_t session = -1;
  pid_t group = -1;
  pid_t host_parent = -1;
  std::int64_t threads = 0;
  bool is_zombie = false;
  std::string name;  // its program's
  std::int64_t started = 0;
};

std::optional<Stat> read_stat(pid_t pid) {
  const std::string text = base::text_of_file("/proc/" + std::to_string(pid) + "/stat");
  // The name of the program is its own choice, and may hold anything but a NUL.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 > text.size()) return std::nullopt;
  constexpr std::size_t kFirstField = 3;
  constexpr std::size_t kFlags = 9 - kFirstField;
  constexpr std::size_t kStartTime = 22 - kFirstField;
  constexpr std::uint64_t kForkedWithoutExec = 0x40;  // PF_FORKNOEXEC
  const auto fields = base::split(std::string_view(text).substr(name_end + 2), ' ');
  if (fields.size() <= kStartTime) return std::nullopt;
  const auto flags = base::number_of<std::uint64_t>(fields[kFlags]);
  const auto started = base::number_of<std::int64_t>(fields[kStartTime]);
  if (!flags || !started) return std::nullopt;
  return Stat{.started = *started, .is_only_forked = (*flags & kForkedWithoutExec) != 0};
}

std::optional<std::int64_t> start_time(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat ? std::optional(stat->started) : std::nullopt;
}

std::optional<Process> read_process(pid_t pid) {
  const auto started = start_time(pid);
  if (!started) return std::nullopt;
  Process process;
  process.started = *started;
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("NSpid:")) process.pid = innermost(line, sizeof "NSpid:");
    if (line.starts_with("Name:\t")) process.name = line.substr(sizeof "Name:\t" - 1);
    if (line.starts_with("State:\tZ") || line.starts_with("State:\tX")) process.is_zombie = true;
    if (line.starts_with("NSsid:")) process.session = innermost(line, sizeof "NSsid:");
    if (line.starts_with("NSpgid:")) process.group = innermost(line, sizeof "NSpgid:");
    if (line.starts_with("PPid:")) process.host_parent = innermost(line, sizeof "PPid:");
    if (line.starts_with("Threads:")) process.threads = innermost(line, sizeof "Threads:");
  }
  return process;
}

// Its arguments with blanks between them; empty for what is just about to be another program.
std::string command_line(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
  std::string text(kCommandBytesMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  while (text.ends_with('\0')) text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

std::string shown_command(const std::string& line) {
  if (line.size() <= kCommandBytesShown) return files::shown_path(line);
  return files::shown_path(line.substr(0, kCommandBytesShown)) + "...";
}

void add_files_written_by(pid_t pid, dev_t device, base::WorkBudget& budget,
                          std::set<std::uint64_t>& inodes) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd";
  const std::unique_ptr<DIR, int (*)(DIR*)> table(::opendir(path.c_str()), &::closedir);
  while (const dirent* entry = table ? ::readdir(table.get()) : nullptr) {  // NOLINT: one thread
    if (!budget.take()) return;
    struct stat link {};
    struct stat file {};
    // The link's own mode says what the descriptor may do. Nothing is opened.
    if (::fstatat(::dirfd(table.get()), entry->d_name, &link, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISLNK(link.st_mode) || (link.st_mode & S_IWUSR) == 0) {
      continue;
    }
    if (::fstatat(::dirfd(table.get()), entry->d_name, &file, 0) != 0) continue;
    if (S_ISREG(file.st_mode) && file.st_dev == device) inodes.insert(file.st_ino);
  }
}

// Held by its descriptor, so that the number cannot come to mean another process in between.
void send_signal(pid_t pid, const Process& known, int init_pidfd, int signal) {
  const base::UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd.valid() || start_time(pid) != known.started || !is_alive(init_pidfd)) return;
  (void)::syscall(SYS_pidfd_send_signal, fd.get(), signal, nullptr, 0);
}

using IsMeant = std::function<bool(const Process&)>;

// False: there was none.
bool signal_processes(const InitProcess& init, const IsMeant& is_meant, int signal) {
  bool found = false;
  for (const pid_t pid : read_descendants(init.host_pid())) {
    const auto process = read_process(pid);
    if (!process || !is_meant(*process)) continue;
    send_signal(pid, *process, init.pidfd(), signal);
    found = true;
  }
  return found;
}

void end_processes(const InitProcess& init, const IsMeant& is_meant) {
  // Again for what was forked meanwhile.
  for (int round = 0; round < kRoundsMax; ++round) {
    if (!signal_processes(init, is_meant, SIGKILL)) return;
  }
}

// The kernel gives no session's number to anybody else while the session has members, so the worker
// need not live any more.
IsMeant is_started_since(pid_t worker, std::int64_t since) {
  return [worker, since](const Process& process) {
    return process.pid != worker && process.session == worker && process.started >= since;
  };
}

}  // namespace

std::int64_t process_clock() {
  timespec now{};
  (void)::clock_gettime(CLOCK_BOOTTIME, &now);
  constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
  const std::int64_t ticks = ::sysconf(_SC_CLK_TCK);
  return now.tv_sec * ticks + now.tv_nsec / (kNanosecondsPerSecond / ticks);
}

void end_processes_since(const InitProcess& init, pid_t worker, std::int64_t since) {
  end_processes(init, is_started_since(worker, since));
}

void interrupt_processes_since(const InitProcess& init, pid_t worker, std::int64_t since) {
  (void)signal_processes(init, is_started_since(worker, since), SIGINT);
}

namespace {

// Waits for a moment until a process that has just been forked is another program, as most are
// about to be.
void wait_for_exec(pid_t host_pid) {
  constexpr int kLooksMax = 5;
  for (int look = 0; look < kLooksMax; ++look) {
    const auto stat = read_stat(host_pid);
    if (!stat || !stat->is_only_forked || process_clock() > stat->started + kJustForked) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Returns whether the process is one of hutch's own, and none of the user's.
bool is_own(pid_t host_pid, const Process& process) {
  if (process.name == kOwnFrames || process.name == kOwnSnapshot) return true;
  const std::string command = command_line(host_pid);
  return command.find(kOwnBrowser) != std::string::npos ||
         command.find(kOwnSql) != std::string::npos;
}

bool is_helper(pid_t host_pid) {
  const std::string command = command_line(host_pid);
  return std::any_of(kHelpers.begin(), kHelpers.end(), [&command](std::string_view helper) {
    return command.find(helper) != std::string::npos;
  });
}

bool is_subshell(const std::string& command) { return command.starts_with(kShell); }

// Adds what a subshell waits for to it. `depth_max` bounds how far subshells in subshells are
// looked into.
void add_waited_for(pid_t host_pid, int depth_max, base::WorkBudget& budget,
                    LeftProcess& subshell) {
  if (depth_max == 0) return;
  const std::string number = std::to_string(host_pid);
  std::ifstream children("/proc/" + number + "/task/" + number + "/children");
  constexpr std::size_t kWaitedForMax = 5;
  for (pid_t child = 0;
       subshell.pids.size() <= kWaitedForMax && budget.take() && children >> child;) {
    const auto inner = read_process(child);
    if (!inner || inner->is_zombie) continue;
    wait_for_exec(child);
    const std::string command = command_line(child);
    subshell.pids.push_back(inner->pid);
    if (is_subshell(command)) {
      add_waited_for(child, depth_max - 1, budget, subshell);
    } else {
      base::append_part(subshell.command, shown_command(command.empty() ? inner->name : command),
                        " and ");
    }
  }
}

// A subshell has the command line of the shell that forked it: what it waits for is named.
LeftProcess left_process(pid_t host_pid, const Process& process, base::WorkBudget& budget) {
  const std::string command = command_line(host_pid);
  LeftProcess left{{process.pid}, process.started, ""};
  if (!is_subshell(command)) {
    left.command = shown_command(command.empty() ? process.name : command);
    return left;
  }
  add_waited_for(host_pid, kSubshellsDeep, budget, left);
  left.command += left.command.empty() ? "a subshell" : " in a subshell";
  return left;
}

// Adds the children of a process of one thread that are meant; looks into `since.waiting` among
// them.
void add_children(pid_t host_pid, const LeftSince& since, base::WorkBudget& budget,
                  LeftProcesses& left) {
  const std::string number = std::to_string(host_pid);
  std::ifstream children("/proc/" + number + "/task/" + number + "/children");
  for (pid_t child = 0; budget.take() && children >> child;) {
    const bool is_old = start_time(child).value_or(0) < since.began;
    if (is_old && !since.waiting) continue;
    const auto process = read_process(child);
    if (!process || process->is_zombie || process->pid <= 0) continue;  // it is just ending
    if (process->pid == since.waiting) add_children(child, since, budget, left);
    if (is_old || since.workers.contains(process->pid)) continue;
    if (since.session && process->session != *since.session) continue;
    if (left.named.size() < LeftRunning::kProcessesMax) wait_for_exec(child);
    if (is_own(child, *process)) continue;
    if (left.named.size() < LeftRunning::kProcessesMax) {
      left.named.push_back(left_process(child, *process, budget));
    } else {
      ++left.more;
    }
  }
}

}  // namespace

LeftProcesses left_processes(const InitProcess& init, const LeftSince& since) {
  LeftProcesses left;
  base::WorkBudget budget(kShortLook);
  // Init is a process of one thread, whose children are those that nobody else waits for.
  add_children(init.host_pid(), since, budget, left);
  return left;
}

LeftProcesses processes_going_on(const InitProcess& init, const std::set<pid_t>& interpreters,
                                 const std::set<pid_t>& workers) {
  LeftProcesses found;
  std::set<pid_t> starters = {init.host_pid()};  // by their pids on the host
  base::WorkBudget budget(kShortLook);
  for (const pid_t pid : read_descendants(init.host_pid(), budget)) {
    const auto process = budget.take() ? read_process(pid) : std::nullopt;
    if (!process || process->is_zombie) continue;
    if (interpreters.contains(process->pid)) starters.insert(pid);
    if (workers.contains(process->pid) || !starters.contains(process->host_parent)) continue;
    if (is_own(pid, *process) || is_helper(pid)) continue;
    if (found.named.size() == LeftRunning::kProcessesMax) {
      ++found.more;
      continue;
    }
    found.named.push_back(left_process(pid, *process, budget));
    if (command_line(pid) == command_line(process->host_parent)) {
      found.named.back().command = "a fork of an interpreter";
    }
  }
  return is_alive(init.pidfd()) ? std::move(found) : LeftProcesses();
}

std::string other_process(const InitProcess& init, const std::set<pid_t>& workers) {
  base::WorkBudget budget(kShortLook);
  for (const pid_t pid : read_descendants(init.host_pid(), budget)) {
    if (!budget.take()) return "many processes";
    const auto process = read_process(pid);
    if (!process || process->is_zombie || workers.contains(process->pid)) continue;
    if (is_own(pid, *process)) continue;
    const std::string command = command_line(pid);
    return "process " + std::to_string(process->pid) + " (" +
           shown_command(command.empty() || is_subshell(command) ? process->name : command) + ")";
  }
  return "";
}

std::set<std::uint64_t> files_being_written(const InitProcess& init, pid_t worker, dev_t device) {
  std::set<std::uint64_t> inodes;
  base::WorkBudget budget(kShortLook);
  for (const pid_t pid : read_descendants(init.host_pid(), budget)) {
    const auto process = budget.take() ? read_process(pid) : std::nullopt;
    if (!process || (process->pid != worker && process->session != worker)) continue;
    add_files_written_by(pid, device, budget, inodes);
  }
  return inodes;
}

namespace {

// Says whose the processes of a box are. The map has those that earlier runs have left behind, by
// their pids on the host.
struct Shares {
  std::map<pid_t, Process> left;
  std::set<pid_t> groups_on;    // that are not all of them left
  std::int64_t left_tasks = 0;  // processes and threads
  std::int64_t on_tasks = 0;
};

using Processes = std::vector<std::pair<pid_t, Process>>;  // by pid on the host; parents first

// A process is of what is on where it has begun since then, its parent has, and either a run that
// is on has its session, or nothing of that session was there before.
class Sorting {
 public:
  explicit Sorting(const RunsThatAreOn& on) : on_(on) {
    for (const auto& [worker, began] : on.began) first_began_ = std::min(first_began_, began);
  }

  [[nodiscard]] Shares sort(const Processes& processes) const {
    std::set<pid_t> workers;  // by their pids on the host, as those that run nothing
    std::set<pid_t> idle;
    for (const auto& [host_pid, process] : processes) {
      if (!on_.workers.contains(process.pid)) continue;
      workers.insert(host_pid);
      if (!on_.began.contains(process.pid)) idle.insert(host_pid);
    }
    const auto is_old = [&](const Process& process) {
      return process.started < first_began_ || idle.contains(process.host_parent);
    };
    std::set<pid_t> old_sessions = on_.left_sessions;
    for (const auto& [host_pid, process] : processes) {
      if (is_old(process)) old_sessions.insert(process.session);
    }
    Shares shares;
    for (const auto& [host_pid, process] : processes) {
      // Zombies of a worker make room when that waits for them, and nobody else can end them.
      if (process.is_zombie && workers.contains(process.host_parent)) continue;
      const bool is_worker = on_.workers.contains(process.pid);
      const bool is_left = is_old(process) || shares.left.contains(process.host_parent) ||
                           is_in_old_session(process, old_sessions);
      if (!is_worker && is_left) {
        shares.left.emplace(host_pid, process);
        shares.left_tasks += process.threads;
      } else {
        shares.on_tasks += idle.contains(host_pid) ? 0 : process.threads;
        shares.groups_on.insert(process.group);
      }
    }
    return shares;
  }

 private:
  [[nodiscard]] bool is_in_old_session(const Process& process,
                                       const std::set<pid_t>& old_sessions) const {
    if (on_.began.contains(process.session)) return false;
    return on_.workers.contains(process.session) || old_sessions.contains(process.session);
  }

  const RunsThatAreOn& on_;
  std::int64_t first_began_ = std::numeric_limits<std::int64_t>::max();
};

Processes read_processes(const InitProcess& init, base::WorkBudget& budget) {
  Processes processes;
  for (const pid_t pid : read_descendants(init.host_pid(), budget)) {
    if (!budget.take()) break;
    const auto process = read_process(pid);
    if (process && !is_own(pid, *process)) processes.emplace_back(pid, *process);
  }
  return processes;
}

// Returns whose they are at the look of several that found most of them left: the kernel's lists
// lack many where processes end all the time.
Shares look_for_most(const InitProcess& init, const RunsThatAreOn& on, std::int64_t least,
                     base::WorkBudget& budget) {
  constexpr int kLooks = 4;
  Shares most;
  for (int look = 0; look < kLooks && most.left_tasks < least && !budget.spent(); ++look) {
    Shares shares = Sorting(on).sort(read_processes(init, budget));
    if (look == 0 || shares.left_tasks > most.left_tasks) most = std::move(shares);
    if (most.left.empty()) break;
  }
  return most;
}

// Nothing in the box goes on for as long as this lives, where that can be had.
class Standstill {
 public:
  explicit Standstill(const Freeze& freeze) : freeze_(freeze) {
    // One that was not reached would come true some time later.
    if (freeze_ && !freeze_(true)) (void)freeze_(false);
  }
  Standstill(const Standstill&) = delete;
  Standstill& operator=(const Standstill&) = delete;
  ~Standstill() {
    if (freeze_) (void)freeze_(false);
  }

 private:
  const Freeze freeze_;
};

// A whole group at once, where it is all left: nothing of it forks meanwhile. The kernel's lists
// may lack a process while others are reaped, hence a worker's group, which has its pid, is never
// one.
void end_left(InitProcess& init, const Shares& shares, const std::set<pid_t>& workers) {
  std::set<pid_t> groups;
  for (const auto& [host_pid, process] : shares.left) {
    if (process.group > 1 && !workers.contains(process.group) &&
        !shares.groups_on.contains(process.group)) {
      groups.insert(process.group);
    }
  }
  for (const pid_t group : groups) init.signal(group, SIGKILL, wire::SignalTarget::kGroup);
  for (const auto& [host_pid, process] : shares.left) {
    send_signal(host_pid, process, init.pidfd(), SIGKILL);
  }
}

}  // namespace

LeftEnded end_left_where_most(InitProcess& init, const Freeze& freeze, const RunsThatAreOn& on,
                              std::int64_t least) {
  // Who was killed has its place in the process table until it is reaped, and forks until it is
  // killed where nothing stands still.
  constexpr auto kGoneWithin = std::chrono::milliseconds(500);
  constexpr int kBetweenRoundsMs = 2;
  constexpr base::WorkBudget::Bounds kLook{.steps = 65'536,
                                           .cpu_time = std::chrono::milliseconds(500)};
  RunsThatAreOn known = on;
  LeftEnded found;
  const auto until = std::chrono::steady_clock::now() + kGoneWithin;
  for (int round = 0; round == 0 || std::chrono::steady_clock::now() < until; ++round) {
    base::WorkBudget budget(kLook);
    // Who is killed meanwhile forks no more. Later ones are for what was not seen.
    const Standstill standstill(round == 0 ? freeze : Freeze());
    const Shares shares = round == 0 ? look_for_most(init, known, least, budget)
                                     : Sorting(known).sort(read_processes(init, budget));
    for (const auto& [host_pid, process] : shares.left) found.sessions.insert(process.session);
    const bool are_most = shares.left_tasks >= least && shares.left_tasks > shares.on_tasks;
    if (round == 0 && (!are_most || budget.spent())) return found;
    if (shares.left.empty() || budget.spent()) break;
    if (round > 0) (void)::poll(nullptr, 0, kBetweenRoundsMs);
    found.ended = true;
    end_left(init, shares, on.workers);
    known.left_sessions.insert(found.sessions.begin(), found.sessions.end());
  }
  return found;
}

std::set<pid_t> sessions_of_others(const InitProcess& init, const std::set<pid_t>& workers) {
  base::WorkBudget budget(kShortLook);
  std::set<pid_t> sessions;
  for (const auto& [host_pid, process] : read_processes(init, budget)) {
    if (!workers.contains(process.session)) sessions.insert(process.session);
  }
  return sessions;
}

void end_all_processes_but(const InitProcess& init, const std::set<pid_t>& workers) {
  end_processes(init,
                [&workers](const Process& process) { return !workers.contains(process.pid); });
}

}  // namespace sandbox::box
