// Who removes a mark holds its lock, and who has made one looks whether it is still there.
#include "sessions/servers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/random_id.h"
#include "sandbox/journal_calls.h"

namespace sessions {

using base::Error;

Servers::Servers(std::string state_directory)
    : state_directory_(std::move(state_directory)), own_id_(base::random_id("server_")) {}

Servers::~Servers() { (void)::unlink((directory() + "/" + own_id_).c_str()); }

base::Status Servers::open() {
  if (::mkdir(directory().c_str(), 0700) != 0 && errno != EEXIST)
    return Error::from_errno("make " + directory());
  const std::string path = directory() + "/" + own_id_;
  while (true) {
    own_lock_ = TRY(base::open_file(AT_FDCWD, path, O_RDWR | O_CREAT, 0600));
    while (::flock(own_lock_.get(), LOCK_EX) != 0) {
      if (errno != EINTR) return Error::from_errno("lock " + path);
    }
    // Until it was locked, a sweep may have taken it for a dead one's.
    struct stat mark {};
    if (::fstat(own_lock_.get(), &mark) != 0) return Error::from_errno("fstat " + path);
    if (mark.st_nlink > 0) return base::done();
  }
}

bool Servers::is_alive(const std::string& server_id) const {
  if (server_id == own_id_) return true;
  const std::string path = directory() + "/" + server_id;
  const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file.valid() && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0;
}

void Servers::sweep() const {
  const auto marks = base::open_file(AT_FDCWD, directory(), O_RDONLY | O_DIRECTORY);
  if (!marks.ok()) return;
  for (const std::string& name : base::names_in(marks.value().get())) {
    const auto mark = base::open_file(marks.value().get(), name, O_RDONLY | O_NOFOLLOW);
    if (!mark.ok() || ::flock(mark.value().get(), LOCK_EX | LOCK_NB) != 0) continue;
    // Another sweep may have removed it already, and a server that starts have made another.
    struct stat found {};
    if (::fstat(mark.value().get(), &found) != 0 || found.st_nlink == 0) continue;
    (void)::unlinkat(marks.value().get(), name.c_str(), 0);
    sandbox::JournalCalls::forget(state_directory_, name);
  }
}

}  // namespace sessions
