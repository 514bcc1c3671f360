#include "sandbox/box/state_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "sandbox/session_parts.h"
#include "sandbox/snapshot_index.h"

namespace sandbox::box {

namespace {

base::Result<base::UniqueFd> open_state(int session_fd) {
  return base::open_file(session_fd, kStatePart, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

}  // namespace

base::Result<StateDirectory> StateDirectory::open(int session_fd) {
  auto opened = open_state(session_fd);
  if (opened.ok()) return StateDirectory(session_fd, std::move(opened).value());
  if (opened.error().kind != base::Error::Kind::kNotFound) return std::move(opened).error();
  return StateDirectory(session_fd, base::UniqueFd());
}

void StateDirectory::look() {
  if (fd_.valid()) return;
  auto opened = open_state(session_fd_);
  if (opened.ok()) fd_ = std::move(opened).value();
}

base::Status StateDirectory::make() {
  if (fd_.valid()) return base::done();
  if (::mkdirat(session_fd_, kStatePart, 0700) != 0 && errno != EEXIST) {
    return base::Error::from_errno("mkdir of the session's state");
  }
  fd_ = TRY(open_state(session_fd_));
  return base::done();
}

void StateDirectory::set_rests() {
  if (!make().ok()) return;
  (void)base::open_file(fd_.get(), kRestsFile, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
}

bool StateDirectory::clear() {
  bool was_there = false;
  if (!fd_.valid()) return was_there;
  for (const std::string& name : base::names_in(fd_.get())) {
    const bool was_deleted = ::unlinkat(fd_.get(), name.c_str(), 0) == 0;
    was_there = was_there || (was_deleted && name != kShareUsedUp);
  }
  return was_there;
}

bool StateDirectory::take_rests() { return ::unlinkat(fd(), kRestsFile, 0) == 0; }

}  // namespace sandbox::box
