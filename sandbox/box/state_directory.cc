#include "sandbox/box/state_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/session_parts.h"

namespace sandbox::box {

base::Result<base::UniqueFd> open_state_directory(int session_fd) {
  if (::mkdirat(session_fd, kStatePart, 0700) != 0 && errno != EEXIST) {
    return base::Error::from_errno("mkdir of the session's state");
  }
  return base::open_file(session_fd, kStatePart, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

bool set_rests(int directory_fd, bool rests) {
  if (!rests) return ::unlinkat(directory_fd, kRestsFile, 0) == 0;
  const bool rested = ::faccessat(directory_fd, kRestsFile, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  (void)base::open_file(directory_fd, kRestsFile, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
  return rested;
}

}  // namespace sandbox::box
