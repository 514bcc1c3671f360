// What sessions have asked of the network: from the journals of their boxes into the database.
#include <fcntl.h>

#include "sandbox/network_journal.h"
#include "sessions/manager.h"

namespace sessions {

base::Status Manager::take_journal(const std::string& session_id) {
  const auto directory =
      base::open_file(AT_FDCWD, directory_of(session_id), O_RDONLY | O_DIRECTORY);
  if (!directory.ok()) return base::done();  // it never had a box, or is gone
  const int fd = directory.value().get();
  const std::int64_t bytes = sandbox::network_journal_bytes(fd);
  {
    const std::lock_guard lock(mutex_);
    if (bytes == 0 || journal_bytes_[session_id] == bytes) return base::done();
  }
  TRY(store_.add_network_requests(session_id, sandbox::read_network_journal(fd)));
  const std::lock_guard lock(mutex_);
  journal_bytes_[session_id] = bytes;
  return base::done();
}

base::Status Manager::take_journals() {
  for (const Session& session : TRY(store_.live_sessions())) TRY(take_journal(session.id));
  return base::done();
}

}  // namespace sessions
