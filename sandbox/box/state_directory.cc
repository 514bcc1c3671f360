#include "sandbox/box/state_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace sandbox::box {
namespace {

constexpr const char* kDirectory = "state";
constexpr const char* kRests = "rests";

}  // namespace

base::Result<base::UniqueFd> open_state_directory(int session_fd) {
  if (::mkdirat(session_fd, kDirectory, 0700) != 0 && errno != EEXIST) {
    return base::Error::from_errno("mkdir of the session's state");
  }
  return base::open_file(session_fd, kDirectory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

bool set_rests(int directory_fd, bool rests) {
  if (!rests) return ::unlinkat(directory_fd, kRests, 0) == 0;
  const bool rested = ::faccessat(directory_fd, kRests, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  (void)base::open_file(directory_fd, kRests, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
  return rested;
}

}  // namespace sandbox::box
