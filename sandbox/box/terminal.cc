#include "sandbox/box/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/files/open_in_root.h"
#include "sandbox/run_input.h"

namespace sandbox::box {

using base::Error;

base::Result<Terminal> open_terminal(int root_fd, TerminalSize size, std::optional<uid_t> owner) {
  Terminal terminal;
  terminal.master = files::open_without_links(root_fd, "dev/pts/ptmx",
                                              O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (!terminal.master.valid() && errno == ENOSPC) {
    return base::error(Error::Kind::kLimit, "the session has no terminal left: end some");
  }
  if (!terminal.master.valid()) return Error::from_errno("open a terminal of the box");
  struct stat status {};
  if (::fstat(terminal.master.get(), &status) != 0) return Error::from_errno("fstat");
  if (!S_ISCHR(status.st_mode) || status.st_rdev != makedev(5, 2)) {
    return base::error(Error::Kind::kUnsupported, "/dev/pts/ptmx of the box is none");
  }
  int locked = 0;
  if (::ioctl(terminal.master.get(), TIOCSPTLCK, &locked) != 0) {
    return Error::from_errno("TIOCSPTLCK");
  }
  terminal.slave =
      base::UniqueFd(::ioctl(terminal.master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.slave.valid()) return Error::from_errno("TIOCGPTPEER");
  if (owner && ::fchown(terminal.slave.get(), *owner, static_cast<gid_t>(-1)) != 0) {
    return Error::from_errno("fchown of a terminal");
  }
  TRY(set_terminal_size(terminal.master.get(), size));
  return terminal;
}

}  // namespace sandbox::box
