#include "sandbox/box/run_processes.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>

#include "sandbox/base/fd.h"
#include "sandbox/box/process_tree.h"

namespace sandbox::box {
namespace {

constexpr int kRoundsMax = 3;

// The last number on a line of /proc/<pid>/status that lists one for each pid namespace: the one
// inside the box.
pid_t innermost(const std::string& line, std::size_t name_size) {
  std::istringstream numbers(line.substr(name_size));
  pid_t last = -1;
  for (pid_t number = 0; numbers >> number;) last = number;
  return last;
}

struct Process {
  pid_t pid = -1;  // both as the box numbers them
  pid_t session = -1;
  std::int64_t started = 0;
};

std::optional<std::int64_t> start_time(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  // The name of the program is its own choice, and may hold anything but a NUL.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 2));
  constexpr int kFirstField = 3;
  constexpr int kStartTime = 22;
  std::string skipped;
  for (int field = kFirstField; field < kStartTime; ++field) fields >> skipped;
  std::int64_t started = 0;
  fields >> started;
  return fields ? std::optional(started) : std::nullopt;
}

std::optional<Process> read_process(pid_t pid) {
  const auto started = start_time(pid);
  if (!started) return std::nullopt;
  Process process;
  process.started = *started;
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("NSpid:")) process.pid = innermost(line, sizeof "NSpid:");
    if (line.starts_with("NSsid:")) process.session = innermost(line, sizeof "NSsid:");
  }
  return process;
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

void end_all_processes_but(const InitProcess& init, const std::set<pid_t>& workers) {
  end_processes(init,
                [&workers](const Process& process) { return !workers.contains(process.pid); });
}

}  // namespace sandbox::box
