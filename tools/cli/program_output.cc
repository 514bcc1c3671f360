#include "tools/cli/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/base/fd.h"

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
  (void)::kill(-pid, SIGKILL);  // whoever has closed its output and goes on
  int status = 0;
  const bool is_known = ::waitpid(pid, &status, 0) == pid;
  (void)::signal(SIGCHLD, before);
  if (!printed.ok()) return printed;
  // By that signal ends who has said all and goes on; any other says that it has crashed.
  const bool is_ended_by_us = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (is_known && (status == 0 || is_ended_by_us)) return printed;
  const std::string how = WIFSIGNALED(status)
                              ? "was ended by signal " + std::to_string(WTERMSIG(status))
                              : "failed with status " + std::to_string(WEXITSTATUS(status));
  return base::error(Error::Kind::kUnavailable, how);
}

}  // namespace tools::cli
