#include "sandbox/box/state_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "sandbox/session_parts.h"

namespace sandbox::box {

StateDirectory::StateDirectory(int session_fd) : session_fd_(session_fd) { look(); }

void StateDirectory::look() {
  if (fd_.valid()) return;
  auto opened = base::open_file(session_fd_, kStatePart, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (opened.ok()) fd_ = std::move(opened).value();
}

base::Status StateDirectory::make() {
  if (fd_.valid()) return base::done();
  if (::mkdirat(session_fd_, kStatePart, 0700) != 0 && errno != EEXIST) {
    return base::Error::from_errno("mkdir of the session's state");
  }
  fd_ = TRY(base::open_file(session_fd_, kStatePart, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return base::done();
}

void StateDirectory::set_rests() {
  if (!make().ok()) return;
  (void)base::open_file(fd_.get(), kRestsFile, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
}

bool StateDirectory::take_rests() { return ::unlinkat(fd(), kRestsFile, 0) == 0; }

}  // namespace sandbox::box
