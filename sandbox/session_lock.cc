#include "sandbox/session_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "sandbox/session_parts.h"

namespace sandbox {

using base::Error;

namespace {

// Processes that only look hold a shared lock for a moment, so take() tries again.
constexpr int kLookersMax = 100;
constexpr int kLookerPauseMs = 2;

Error somebodys() {
  return base::error(Error::Kind::kConflict,
                     "another hutch is starting or clearing up this session: try again");
}

}  // namespace

base::Result<SessionLock> SessionLock::take(const std::string& session_directory) {
  const std::string path = session_part(session_directory, kLockPart);
  auto opened = base::open_file(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!opened.ok() && opened.error().os_errno == ENOENT) {
    return base::error(Error::Kind::kNotFound, "no such directory: " + session_directory);
  }
  base::UniqueFd file = TRY(std::move(opened));
  for (int i = 0; ::flock(file.get(), LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EWOULDBLOCK && errno != EINTR) return Error::from_errno("lock " + path);
    if (i == kLookersMax || ::flock(file.get(), LOCK_SH | LOCK_NB) != 0) return somebodys();
    (void)::flock(file.get(), LOCK_UN);
    (void)::poll(nullptr, 0, kLookerPauseMs);
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return Error::from_errno("stat " + path);
  // Its last owner has removed the directory, and with it what is locked here.
  if (status.st_nlink == 0) {
    return base::error(Error::Kind::kNotFound, "removed meanwhile: " + session_directory);
  }
  return SessionLock(std::move(file));
}

bool SessionLock::is_held(const std::string& session_directory) {
  const base::UniqueFd file(::open(session_part(session_directory, kLockPart).c_str(),
                                   O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file.valid() && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0;
}

}  // namespace sandbox
