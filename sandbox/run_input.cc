#include "sandbox/run_input.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace sandbox {

using base::Error;

base::Status write_input(const RunInput& input, std::string_view bytes,
                         std::chrono::milliseconds patience) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(input.fd.get(), bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && (errno == EPIPE || errno == EIO)) {
      return base::error(Error::Kind::kNotFound, "the process reads its standard input no more");
    }
    if (written < 0 && errno != EAGAIN) return Error::from_errno("write to a run's input");
    const auto events =
        TRY(base::wait_for(input.fd.get(), POLLOUT, std::chrono::steady_clock::now() + patience));
    if (events == 0) {
      return base::error(Error::Kind::kConflict, "the process does not read its standard input: " +
                                                     std::to_string(bytes.size()) +
                                                     " bytes are not written");
    }
  }
  return base::done();
}

base::Status set_terminal_size(int fd, TerminalSize size) {
  winsize wanted{};
  wanted.ws_row = size.rows;
  wanted.ws_col = size.columns;
  if (::ioctl(fd, TIOCSWINSZ, &wanted) == 0) return base::done();
  return Error::from_errno("TIOCSWINSZ");
}

}  // namespace sandbox
