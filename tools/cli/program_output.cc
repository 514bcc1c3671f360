#include "tools/cli/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

namespace tools::cli {

using base::Error;

namespace {

// kUnavailable: it was not whole by then, or cannot be read; kLimit: it is more than that.
base::Result<std::string> read_until(int fd, std::size_t bytes_max,
                                     std::chrono::steady_clock::time_point deadline) {
  std::string printed;
  while (true) {
    const short events = TRY(base::wait_for(fd, POLLIN, deadline));
    char part[4096];
    const ssize_t got = events == 0 ? -1 : ::read(fd, part, sizeof part);
    if (got < 0) return base::error(Error::Kind::kUnavailable, "has not ended in time");
    if (got == 0) return printed;
    printed.append(part, static_cast<std::size_t>(got));
    if (printed.size() > bytes_max) {
      return base::error(Error::Kind::kLimit,
                         "prints more than " + std::to_string(bytes_max) + " bytes");
    }
  }
}

// Who has said all most often ends at once; then how it ended is its own.
bool ends_soon(pid_t pid) {
  constexpr int kLooks = 20;
  constexpr int kPauseMs = 10;
  for (int look = 0; look < kLooks; ++look) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | WNOHANG) != 0 ||
        info.si_pid == pid) {
      return true;
    }
    (void)::poll(nullptr, 0, kPauseMs);
  }
  return false;
}

}  // namespace

base::Result<std::string> output_of(base::SpawnOptions options, std::size_t bytes_max,
                                    std::chrono::seconds patience) {
  const base::UniqueFd null = TRY(base::open_file(AT_FDCWD, "/dev/null", O_RDWR));
  base::Pipe pipe = TRY(base::make_pipe());
  options.descriptors = {null.get(), pipe.write_end.get(), STDERR_FILENO};
  options.own_session = true;
  const auto before = ::signal(SIGCHLD, SIG_DFL);  // else nobody is told how it ended
  const pid_t pid = TRY(base::spawn(options));
  pipe.write_end.reset();
  auto printed =
      read_until(pipe.read_end.get(), bytes_max, std::chrono::steady_clock::now() + patience);
  const bool is_ended_by_us = printed.ok() && !ends_soon(pid);
  (void)::kill(-pid, SIGKILL);  // whoever has closed its output and goes on
  int status = 0;
  const bool is_known = ::waitpid(pid, &status, 0) == pid;
  (void)::signal(SIGCHLD, before);
  if (!printed.ok()) return printed;
  if (is_known && (status == 0 || is_ended_by_us)) return printed;
  const std::string how = WIFSIGNALED(status)
                              ? "was ended by signal " + std::to_string(WTERMSIG(status))
                              : "failed with status " + std::to_string(WEXITSTATUS(status));
  return base::error(Error::Kind::kUnavailable, how);
}

}  // namespace tools::cli
