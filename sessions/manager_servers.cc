// Marks of the servers of one state directory: a file each, locked as long as its server lives. Who
// removes one holds its lock, and who has made one looks whether it is still there.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "sandbox/base/fd.h"
#include "sessions/manager.h"

namespace sessions {

Quotas Manager::quotas() const {
  const std::lock_guard lock(quotas_mutex_);
  return quotas_;
}

void Manager::change_quotas(const Quotas& quotas) {
  const std::lock_guard lock(quotas_mutex_);
  quotas_ = quotas;
}

using base::Error;

base::Status Manager::take_server_lock() {
  const std::string path = config_.state_directory + "/servers/" + server_id_;
  while (true) {
    server_lock_ = TRY(base::open_file(AT_FDCWD, path, O_RDWR | O_CREAT, 0600));
    while (::flock(server_lock_.get(), LOCK_EX) != 0) {
      if (errno != EINTR) return Error::from_errno("lock " + path);
    }
    // Until it was locked, a sweep may have taken it for a dead one's.
    struct stat mark {};
    if (::fstat(server_lock_.get(), &mark) != 0) return Error::from_errno("fstat " + path);
    if (mark.st_nlink > 0) return base::done();
  }
}

void Manager::sweep_server_marks() const {
  const std::string servers = config_.state_directory + "/servers";
  const auto marks = base::open_file(AT_FDCWD, servers, O_RDONLY | O_DIRECTORY);
  if (!marks.ok()) return;
  for (const std::string& name : base::names_in(marks.value().get())) {
    const auto mark = base::open_file(marks.value().get(), name, O_RDONLY | O_NOFOLLOW);
    if (!mark.ok() || ::flock(mark.value().get(), LOCK_EX | LOCK_NB) != 0) continue;
    // Another sweep may have removed it already, and a server that starts have made another.
    struct stat found {};
    if (::fstat(mark.value().get(), &found) != 0 || found.st_nlink == 0) continue;
    (void)::unlinkat(marks.value().get(), name.c_str(), 0);
    sandbox::JournalCalls::forget(config_.state_directory, name);
  }
}

bool Manager::server_is_alive(const std::string& server_id) const {
  if (server_id == server_id_) return true;
  const std::string path = config_.state_directory + "/servers/" + server_id;
  const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file.valid() && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0;
}

}  // namespace sessions
