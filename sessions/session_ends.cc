#include "sessions/session_ends.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/files/session_contents.h"
#include "sandbox/files/tree.h"
#include "sessions/box_grants.h"
#include "sessions/connection_sessions.h"
#include "sessions/ground.h"
#include "sessions/network_journals.h"
#include "sessions/past_table.h"
#include "sessions/run_ledger.h"
#include "sessions/session.h"
#include "sessions/session_directory.h"
#include "sessions/session_table.h"
#include "sessions/spare_table.h"
#include "sessions/upkeep_table.h"

namespace sessions {

using base::Error;

namespace {

// How long one may be without a box while it is being made.
constexpr std::int64_t kBoxMakingMs = 60'000;

}  // namespace

base::Status SessionEnds::end(const Session& session, const std::string& why) {
  // First the row: from here on nobody starts a box for it, and what a kill leaves undone the sweep
  // of any server does.
  auto ended = parts_.sessions.set_status(session.id, SessionStatus::kDestroyed, why);
  // A full disk has no room for the row either: what is deleted makes it.
  if (!ended.ok() && ended.error().kind == Error::Kind::kLimit) {
    TRY(delete_files_of(session));
    ended = parts_.sessions.set_status(session.id, SessionStatus::kDestroyed, why);
  }
  TRY(ended);
  parts_.connections.forget(session.id);
  parts_.grants.forget(session.id);
  return bury(session);
}

void SessionEnds::expire(const Session& session, const std::string& why) {
  (void)end(session, why);  // a failure is tried again at the next round, or is buried
}

// Now, for who asks; what fails here the sweep does.
Error SessionEnds::end_of_lifetime(const Session& session) {
  const bool is_sure = session.boot_id == ground_.config.clock().boot_id;
  const bool may_go = is_sure || parts_.upkeep.may_delete_by_time(base::now_ms());
  if (may_go) expire(session, "its lifetime_seconds are over");
  const auto is_live = parts_.sessions.is_live(session.id);
  const bool is_deleted = is_live.ok() && !is_live.value();
  const std::string what =
      is_deleted ? "it was deleted with its files"
      : may_go   ? "it will be deleted with its files"
                 : "nothing runs in it any more; its files are kept for now, since this machine's "
                   "clock may be wrong (hutch doctor says more)";
  return base::error(Error::Kind::kNotFound, "this session's lifetime_seconds are over, and " +
                                                 what + "; create_session makes another");
}

// Ends the session's box, where one is found. Ignores how that went: the session's lock tells
// whether the box has ended.
void SessionEnds::shut_down(const std::string& session_id) {
  if (const auto box = ground_.sandbox.find(session_id); box.ok())
    (void)box.value()->shutdown_for_good();
}

base::Status SessionEnds::delete_files_of(const Session& session) {
  const auto lock = ground_.locks.of(session.id);
  const std::lock_guard one_at_a_time(*lock);
  shut_down(session.id);
  const auto owned = TRY(ground_.own_soon(session.id));
  const base::UniqueFd directory =
      TRY(base::open_file(AT_FDCWD, ground_.files_of(session.id).path(), O_RDONLY | O_DIRECTORY));
  for (const char* name : sandbox::kPartsOfCode) {
    TRY(sandbox::files::remove_tree(directory.get(), name));
  }
  TRY(sandbox::files::remove_tree(directory.get(), sandbox::kStatePart));
  TRY(sandbox::files::remove_tree(directory.get(), sandbox::kKeptRunsPart));
  return sandbox::files::remove_tree(directory.get(), sandbox::kUploadsPart);
}

base::Status SessionEnds::bury(const Session& session) {
  const auto lock = ground_.locks.of(session.id);
  const std::lock_guard one_at_a_time(*lock);
  shut_down(session.id);
  const auto owned = ground_.own_soon(session.id);
  if (!owned.ok() && owned.error().kind == Error::Kind::kConflict) {
    return base::error(
        Error::Kind::kUnavailable,
        "the session is deleted, but its sandbox has not ended yet; it is tried again");
  }
  if (!owned.ok()) return owned.error();
  // A run that cannot be settled is reported lost to whoever asks for it.
  TRY(parts_.ledger.settle_all(session.id, RunLedger::Owner::kUs));
  ground_.sandbox.sweep(session.id, ground_.files_of(session.id).path(), owned.value());
  TRY(parts_.journals.take_last(session.id));
  const base::UniqueFd parent = TRY(base::open_file(
      AT_FDCWD, sessions_directory(ground_.config.state_directory), O_RDONLY | O_DIRECTORY));
  TRY(sandbox::files::remove_tree(parent.get(), session.id));
  parts_.journals.forget(session.id);
  if (session.principal_id == kSparePrincipal) return parts_.spares.forget(session.id);
  return parts_.past.set_buried(session.id);
}

bool SessionEnds::is_left(const Session& session) const {
  if (!session.connection_server) return true;
  std::string_view server = *session.connection_server;
  if (!server.starts_with(kLastingConnection))
    return !ground_.servers.is_alive(std::string(server));
  server.remove_prefix(std::min(server.size(), std::string_view(kLastingConnection).size() + 1));
  if (!server.empty() && ground_.servers.is_alive(std::string(server))) return false;
  // Its client comes back to another server, and that uses the session, or not at all.
  const std::int64_t now = ground_.config.clock().now_ms;
  const std::chrono::milliseconds unused(now - session.last_used_at);
  return unused > ground_.config.clients_back_within && parts_.upkeep.may_delete_by_time(now);
}

bool SessionEnds::delete_if_nothing(const Session& known, const std::string& why) {
  {
    const auto owned = sandbox::SessionLock::take(ground_.files_of(known.id).path());
    if (!owned.ok() || !has_nothing(known)) return false;
    const auto ended = parts_.sessions.set_status(known.id, SessionStatus::kDestroyed, why);
    if (!ended.ok() || !ended.value()) return false;
  }
  expire(known, why);
  return true;
}

bool SessionEnds::has_nothing(const Session& known) {
  // As it is while nobody can start a box for it.
  const auto found = parts_.sessions.find_of_any(known.id);
  if (!found.ok()) return false;
  const Session& session = found.value();
  if (session.unreadable || session.name || !session.metadata.empty()) return false;
  if (session.principal_id != known.principal_id || !is_left(session)) return false;
  const bool is_being_made = session.status == SessionStatus::kProvisioning &&
                             base::now_ms() - session.last_used_at < kBoxMakingMs;
  if (is_being_made || !parts_.journals.take(known.id).ok()) return false;
  const auto traces = parts_.sessions.has_traces(known.id, base::now_ms());
  if (!traces.ok() || traces.value()) return false;
  const auto directory = base::open_file(AT_FDCWD, ground_.files_of(known.id).path(),
                                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  return directory.ok() && !sandbox::files::may_hold_something(directory.value().get());
}

}  // namespace sessions
