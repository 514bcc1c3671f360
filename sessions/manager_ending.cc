// The end of sessions: deleted, over their time, or their connection gone.
#include <fcntl.h>

#include "sandbox/base/clock.h"
#include "sandbox/files/tree.h"
#include "sessions/at_once.h"
#include "sessions/manager.h"

namespace sessions {

using base::Error;

base::Status Manager::end_session(const Session& session, const std::string& why) {
  // First the row: from here on nobody starts a box for it, and what a kill leaves undone the sweep
  // of any server does.
  auto ended = store_.set_session_status(session.id, SessionStatus::kDestroyed, why);
  // A full disk has no room for the row either: what is deleted makes it.
  if (!ended.ok() && ended.error().kind == Error::Kind::kLimit) {
    TRY(delete_files_of(session));
    ended = store_.set_session_status(session.id, SessionStatus::kDestroyed, why);
  }
  TRY(ended);
  connections_.forget(session.id);
  {
    const std::lock_guard lock(mutex_);
    grants_known_.erase(session.id);
  }
  return bury(session);
}

void Manager::expire_session(const Session& session, const std::string& why) {
  (void)end_session(session, why);  // what fails is tried again at the next round, or is buried
}

// Now, for who asks; what fails here the sweep does.
Error Manager::end_of_lifetime(const Session& session) {
  const bool is_sure = session.boot_id == config_.clock().boot_id;
  if (is_sure || store_.may_delete_by_time(base::now_ms())) {
    expire_session(session, "its lifetime_seconds are over");
  }
  return base::error(Error::Kind::kNotFound,
                     "this session's lifetime_seconds are over, and it was deleted with its "
                     "files; create_session makes another");
}

// Whether it has ended, its lock tells.
void Manager::shut_down(const std::string& session_id) {
  if (const auto box = sandbox_.find(session_id); box.ok()) (void)box.value()->shutdown_for_good();
}

base::Status Manager::delete_files_of(const Session& session) {
  const auto lock = lock_of(session.id);
  const std::lock_guard one_at_a_time(*lock);
  shut_down(session.id);
  const auto owned = TRY(own_soon(session.id));
  const base::UniqueFd directory =
      TRY(base::open_file(AT_FDCWD, directory_of(session.id), O_RDONLY | O_DIRECTORY));
  for (const char* name : {"tmp", "workspace", "home", "uploads"}) {
    TRY(sandbox::files::remove_tree(directory.get(), name));
  }
  return base::done();
}

base::Status Manager::bury(const Session& session) {
  const auto lock = lock_of(session.id);
  const std::lock_guard one_at_a_time(*lock);
  shut_down(session.id);
  const auto owned = own_soon(session.id);
  if (!owned.ok() && owned.error().kind == Error::Kind::kConflict) {
    return base::error(
        Error::Kind::kUnavailable,
        "the session is deleted, but its sandbox has not ended yet; it is tried again");
  }
  if (!owned.ok()) return owned.error();
  const auto unfinished = TRY(store_.unfinished_runs(session.id));
  // A run that cannot be settled is reported lost to whoever asks for it.
  for (const Run& row : unfinished) (void)settle(row, Owner::kUs);
  sandbox_.sweep(session.id, directory_of(session.id), owned.value());
  TRY(journals_.take_last(session.id));
  const base::UniqueFd parent =
      TRY(base::open_file(AT_FDCWD, config_.state_directory + "/sessions", O_RDONLY | O_DIRECTORY));
  TRY(sandbox::files::remove_tree(parent.get(), session.id));
  journals_.forget(session.id);
  if (session.principal_id == kSparePrincipal) return store_.forget_spare(session.id);
  return store_.set_buried(session.id);
}

base::Result<sandbox::SessionLock> Manager::own_soon(const std::string& session_id) const {
  auto owned = own(session_id);
  (void)wait_until(kEndPatience, [&] {
    const bool somebodys = !owned.ok() && (owned.error().kind == Error::Kind::kConflict ||
                                           owned.error().kind == Error::Kind::kNotFound);
    if (somebodys) owned = own(session_id);
    return !somebodys;
  });
  return owned;
}

void Manager::connection_ended(const std::string& connection_id) {
  const std::vector<std::string> session_ids = connections_.end(connection_id);
  {
    const std::lock_guard lock(mutex_);
    locks_.erase(connection_id);
  }
  if (!session_ids.empty()) (void)store_.end_connection_of(session_ids);
  at_once(session_ids.size(), [&](std::size_t i) {
    // A box that cannot be told waits for the detach time of this server.
    if (const auto box = sandbox_.look_at(session_ids[i]); box.ok()) {
      (void)box.value()->end_with_connection();
    }
    sandbox_.let_go(session_ids[i]);
  });
}

}  // namespace sessions
