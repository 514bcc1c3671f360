#include "sessions/network_journals.h"

#include <fcntl.h>

#include "base/fd.h"
#include "sandbox/network_journal.h"
#include "sessions/network_table.h"
#include "sessions/session_directory.h"
#include "sessions/session_lists.h"

namespace sessions {

namespace {

// A session that writes as fast as it is read takes no longer than so many parts.
constexpr int kPartsAtOnce = 1000;

base::Result<base::UniqueFd> open_directory(const std::string& state_directory,
                                            const std::string& session_id) {
  return base::open_file(AT_FDCWD, SessionDirectory(state_directory, session_id).path(),
                         O_RDONLY | O_DIRECTORY);
}

}  // namespace

base::Result<bool> NetworkJournals::take_in(const std::string& session_id, int directory_fd) {
  const std::int64_t end = sandbox::network_journal_end(directory_fd);
  {
    const std::lock_guard lock(mutex_);
    if (end == 0 || ends_[session_id] == end) return end != 0;
  }
  std::int64_t taken = 0;
  for (int part = 0; part < kPartsAtOnce; ++part) {
    taken = TRY(network_.journal_taken(session_id));
    // Whoever has removed the directory has removed the journal that this was said of.
    const bool is_another = taken > sandbox::network_journal_end(directory_fd);
    const auto entries = sandbox::read_network_journal(directory_fd, is_another ? 0 : taken);
    if (entries.empty()) break;
    (void)TRY(network_.take_journal(session_id, taken, entries));
  }
  sandbox::drop_network_journal(directory_fd, taken);
  const std::lock_guard lock(mutex_);
  ends_[session_id] = end;
  return true;
}

base::Status NetworkJournals::take(const std::string& session_id) {
  const auto directory = open_directory(state_directory_, session_id);
  if (!directory.ok()) return base::done();  // it never had a box, or is gone
  (void)TRY(take_in(session_id, directory.value().get()));
  return base::done();
}

base::Status NetworkJournals::take_last(const std::string& session_id) {
  const auto directory = open_directory(state_directory_, session_id);
  if (!directory.ok()) return base::done();
  const bool has_one = TRY(take_in(session_id, directory.value().get()));
  return has_one ? network_.end_requests(session_id) : base::done();
}

base::Status NetworkJournals::take_all() {
  for (const Session& session : TRY(session_lists_.live())) TRY(take(session.id));
  // Bytes of sessions that are just being deleted count, too.
  for (const Session& session : TRY(session_lists_.unburied())) TRY(take(session.id));
  return base::done();
}

void NetworkJournals::forget(const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  ends_.erase(session_id);
}

}  // namespace sessions
