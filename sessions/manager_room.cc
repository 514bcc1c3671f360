// Room for one more session: at its bounds a principal's others give way, as far as that loses
// nothing of what somebody may come back for.
#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "sandbox/base/full_disk.h"
#include "sandbox/base/clock.h"
#include "sandbox/files/session_contents.h"
#include "sessions/manager.h"

namespace sessions {

using base::Error;

namespace {

// How long one may be without a box while it is being made.
constexpr std::int64_t kBoxMakingMs = 60'000;
// A box that is well answers in milliseconds.
constexpr std::chrono::milliseconds kLeftBoxPatience{500};
// So many are looked at in one query; a part of all goes at one call: the next ones find room, too.
constexpr std::int64_t kLookedAtOnce = 200;
constexpr std::int64_t kDeletedPart = 100;
// Who waits for a session waits no longer for the look at others.
constexpr std::chrono::seconds kLookMax{2};
constexpr int kRoomAttempts = 3;
constexpr std::int64_t kNamesMax = 10;

}  // namespace

base::Result<Session> Manager::take_row(const Session& wanted) {
  for (int attempt = 0;; ++attempt) {
    auto taken = try_to_take_row(wanted);
    const bool is_full = !taken.ok() && taken.error().kind == Error::Kind::kLimit;
    if (!is_full) return taken;
    // Another may have taken what was made.
    if (attempt == kRoomAttempts || !make_room(wanted.principal_id, true)) {
      return with_names(std::move(taken).error(), wanted.principal_id);
    }
  }
}

base::Result<bool> Manager::claim_box(const Session& session) {
  if (session.principal_id == kSparePrincipal) return false;
  for (int attempt = 0;; ++attempt) {
    auto claimed = store_.claim_box(session, quotas().sessions_max, base::now_ms());
    const bool is_full = !claimed.ok() && claimed.error().kind == Error::Kind::kLimit;
    if (!is_full) return claimed;
    if (attempt == kRoomAttempts || !make_room(session.principal_id, false)) {
      return with_names(std::move(claimed).error(), session.principal_id);
    }
  }
}

bool Manager::make_room(const std::string& principal_id, bool for_new_session) {
  const auto with_box = store_.sessions_with_box(principal_id);
  if (!with_box.ok()) return false;
  if (boxes_are_full(with_box.value()) && !forget_dead_boxes(with_box.value()) &&
      !end_left_boxes(with_box.value())) {
    return false;
  }
  if (!for_new_session) return true;
  const auto kept = store_.count_kept_sessions(principal_id);
  if (!kept.ok()) return false;
  return kept.value() < quotas().kept_sessions_max || delete_some_with_nothing(principal_id);
}

bool Manager::boxes_are_full(const std::vector<Session>& with_box) const {
  return static_cast<std::int64_t>(with_box.size()) >= quotas().sessions_max;
}

// Their rows say what was when a server last looked.
bool Manager::forget_dead_boxes(const std::vector<Session>& sessions) {
  bool found = false;
  for (const Session& session : sessions) {
    const bool is_being_made = session.status == SessionStatus::kProvisioning &&
                               base::now_ms() - session.last_used_at < kBoxMakingMs;
    if (is_being_made || sandbox_.is_alive(directory_of(session.id))) continue;
    found = store_.set_session_status(session.id, SessionStatus::kStopped, "").ok() || found;
  }
  return found;
}

// Boxes that would end by themselves in some seconds, as nobody comes back to them.
bool Manager::end_left_boxes(const std::vector<Session>& sessions) {
  return std::any_of(sessions.begin(), sessions.end(), [this](const Session& session) {
    if (session.name || !session.ends_with_connection || !is_left(session)) return false;
    const auto status = sandbox_.glance_at(session.id, kLeftBoxPatience);
    const bool is_idle = status.ok() && !status.value().attached && status.value().active.empty();
    return is_idle && give_way(session).ok();
  });
}

bool Manager::is_left(const Session& session) const {
  const auto& server = session.connection_server;
  return !server || (*server != kLastingConnection && !server_is_alive(*server));
}

bool Manager::delete_some_with_nothing(const std::string& principal_id) {
  const auto deadline = std::chrono::steady_clock::now() + kLookMax;
  const std::int64_t enough = 1 + quotas().kept_sessions_max / kDeletedPart;
  std::int64_t deleted = 0;
  std::int64_t after = -1;
  while (true) {
    const auto some = store_.unnamed_sessions(principal_id, after, kLookedAtOnce);
    if (!some.ok() || some.value().empty()) return deleted > 0;
    for (const Session& session : some.value()) {
      after = session.last_used_at;
      if (std::chrono::steady_clock::now() > deadline) return deleted > 0;
      const bool is_gone =
          is_left(session) && delete_if_nothing(session, "there was nothing in it, and no room");
      if (is_gone && ++deleted == enough) return true;
    }
  }
}

bool Manager::delete_if_nothing(const Session& known, const std::string& why) {
  {
    const auto owned = sandbox::SessionLock::take(directory_of(known.id));
    if (!owned.ok()) return false;
    // As it is while nobody can start a box for it.
    const auto session = store_.session_of_any(known.id);
    if (!session.ok() || session.value().unreadable || session.value().name ||
        !session.value().metadata.empty())
      return false;
    if (session.value().principal_id != known.principal_id || !is_left(session.value())) {
      return false;
    }
    const bool is_being_made = session.value().status == SessionStatus::kProvisioning &&
                               base::now_ms() - session.value().last_used_at < kBoxMakingMs;
    if (is_being_made || !journals_.take(known.id).ok()) return false;
    const auto traces = store_.session_has_traces(known.id);
    if (!traces.ok() || traces.value()) return false;
    const auto directory =
        base::open_file(AT_FDCWD, directory_of(known.id), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!directory.ok() || sandbox::files::may_hold_something(directory.value().get())) {
      return false;
    }
    const auto ended = store_.set_session_status(known.id, SessionStatus::kDestroyed, why);
    if (!ended.ok() || !ended.value()) return false;
  }
  expire_session(known, why);
  return true;
}

Error Manager::with_names(Error limit, const std::string& principal_id) {
  if (base::is_full_disk(limit)) return limit;  // it is nobody's share that is used up
  auto sessions = store_.sessions_with_box(principal_id);
  if (sessions.ok() && !boxes_are_full(sessions.value())) {
    sessions = store_.oldest_sessions(principal_id, kNamesMax);
  }
  if (!sessions.ok() || sessions.value().empty()) return limit;
  std::string names;
  std::int64_t left = kNamesMax;
  for (const Session& session : sessions.value()) {
    if (left-- == 0) break;
    names += (names.empty() ? "" : ", ") + session.name.value_or(session.id);
  }
  limit.message += "; those unused for longest: " + names;
  return limit;
}

}  // namespace sessions
