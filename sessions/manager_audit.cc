// Takes requests of sessions to the network from the journals of their boxes into the database.
#include <fcntl.h>

#include "sandbox/network_journal.h"
#include "sessions/manager.h"

namespace sessions {

namespace {

// A session that writes as fast as it is read takes no longer than so many parts.
constexpr int kPartsAtOnce = 1000;

}  // namespace

base::Result<bool> Manager::take_journal_in(const std::string& session_id, int directory_fd) {
  const std::int64_t end = sandbox::network_journal_end(directory_fd);
  {
    const std::lock_guard lock(mutex_);
    if (end == 0 || journal_ends_[session_id] == end) return end != 0;
  }
  std::int64_t taken = 0;
  for (int part = 0; part < kPartsAtOnce; ++part) {
    taken = TRY(store_.network_journal_taken(session_id));
    // Whoever has removed the directory has removed the journal that this was said of.
    const bool is_another = taken > sandbox::network_journal_end(directory_fd);
    const auto entries = sandbox::read_network_journal(directory_fd, is_another ? 0 : taken);
    if (entries.empty()) break;
    (void)TRY(store_.take_network_journal(session_id, taken, entries));
  }
  sandbox::drop_network_journal(directory_fd, taken);
  const std::lock_guard lock(mutex_);
  journal_ends_[session_id] = end;
  return true;
}

base::Status Manager::take_journal(const std::string& session_id) {
  const auto directory =
      base::open_file(AT_FDCWD, directory_of(session_id), O_RDONLY | O_DIRECTORY);
  if (!directory.ok()) return base::done();  // it never had a box, or is gone
  (void)TRY(take_journal_in(session_id, directory.value().get()));
  return base::done();
}

base::Status Manager::take_last_journal(const std::string& session_id) {
  const auto directory =
      base::open_file(AT_FDCWD, directory_of(session_id), O_RDONLY | O_DIRECTORY);
  if (!directory.ok()) return base::done();
  const bool has_one = TRY(take_journal_in(session_id, directory.value().get()));
  return has_one ? store_.end_network_requests(session_id) : base::done();
}

base::Status Manager::take_journals() {
  for (const Session& session : TRY(store_.live_sessions())) TRY(take_journal(session.id));
  // Bytes of sessions that are just being deleted count, too.
  for (const Session& session : TRY(store_.unburied_sessions())) TRY(take_journal(session.id));
  return base::done();
}

}  // namespace sessions
