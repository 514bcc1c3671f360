#include "sessions/session_room.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "base/full_disk.h"
#include "base/text.h"
#include "sessions/ground.h"
#include "sessions/session.h"
#include "sessions/session_ends.h"
#include "sessions/session_lists.h"
#include "sessions/session_states.h"
#include "sessions/session_table.h"

namespace sessions {

using base::Error;

namespace {

// How long one may be without a box while it is being made.
constexpr std::int64_t kStartingMs = 60'000;
// A box that is well answers in milliseconds.
constexpr std::chrono::milliseconds kLeftBoxPatience{500};
// So many are looked at in one query; a part of all goes at one call: the next ones find room, too.
constexpr std::int64_t kLookedAtOnce = 200;
constexpr std::int64_t kDeletedPart = 100;
// Who waits for a session waits no longer for the look at others.
constexpr std::chrono::seconds kLookMax{2};
constexpr int kRoomAttempts = 3;
constexpr std::int64_t kNamesMax = 10;
// Per principal, of those that were made for calls that name no session, of clients without a
// connection: nobody says when such a one is done with, so few of them keep a box.
constexpr std::size_t kUnaskedLiveMax = 10;

base::Error all_busy(const std::vector<SessionState>& live) {
  std::string ids;
  for (const SessionState& state : live) base::append_part(ids, state.session.id);
  return base::error(base::Error::Kind::kLimit,
                     std::to_string(live.size()) +
                         " sessions that were made because a call named none are still at work: "
                         "pass session_id to go on in one of them, create_session makes another: " +
                         ids);
}

}  // namespace

template <typename T>
base::Result<T> SessionRoom::with_room(const std::string& principal_id, bool for_new_session,
                                       const std::function<base::Result<T>()>& take) {
  for (int attempt = 0;; ++attempt) {
    auto taken = take();
    const bool is_full = !taken.ok() && taken.error().kind == Error::Kind::kLimit;
    if (!is_full) return taken;
    // Another may have taken what was made.
    if (attempt == kRoomAttempts || !make_room(principal_id, for_new_session)) {
      return with_names(std::move(taken).error(), principal_id);
    }
  }
}

base::Result<Session> SessionRoom::take_row(const std::string& principal_id,
                                            const std::function<base::Result<Session>()>& take) {
  return with_room<Session>(principal_id, true, take);
}

base::Result<bool> SessionRoom::claim_box(const Session& session) {
  if (session.principal_id == kSparePrincipal) return false;
  return with_room<bool>(session.principal_id, false, [&] {
    return sessions_.claim_box(session, ground_.quotas.now().sessions_max, base::now_ms());
  });
}

bool SessionRoom::make_room(const std::string& principal_id, bool for_new_session) {
  const auto with_box = session_lists_.with_box(principal_id);
  if (!with_box.ok()) return false;
  if (boxes_are_full(with_box.value()) && !forget_dead_boxes(with_box.value()) &&
      !end_left_boxes(with_box.value())) {
    return false;
  }
  if (!for_new_session) return true;
  const auto kept = session_lists_.count_kept(principal_id);
  if (!kept.ok()) return false;
  return kept.value() < ground_.quotas.now().kept_sessions_max ||
         delete_some_with_nothing(principal_id);
}

bool SessionRoom::boxes_are_full(const std::vector<Session>& with_box) const {
  return static_cast<std::int64_t>(with_box.size()) >= ground_.quotas.now().sessions_max;
}

// Their rows say what was when a server last looked.
bool SessionRoom::forget_dead_boxes(const std::vector<Session>& sessions) {
  bool found = false;
  for (const Session& session : sessions) {
    const bool is_being_made = session.status == SessionStatus::kProvisioning &&
                               base::now_ms() - session.last_used_at < kStartingMs;
    if (is_being_made || ground_.is_owned(session.id)) continue;
    found = sessions_.set_status(session.id, SessionStatus::kStopped, "").ok() || found;
  }
  return found;
}

// Boxes that would end by themselves in some seconds, as nobody comes back to them.
bool SessionRoom::end_left_boxes(const std::vector<Session>& sessions) {
  return std::any_of(sessions.begin(), sessions.end(), [this](const Session& session) {
    if (session.name || !session.ends_with_connection || !ends_.is_left(session)) return false;
    const auto status = ground_.sandbox.glance_at(session.id, kLeftBoxPatience);
    const bool is_idle = status.ok() && !status.value().attached && status.value().active.empty();
    return is_idle && give_way(session).ok();
  });
}

bool SessionRoom::delete_some_with_nothing(const std::string& principal_id) {
  const auto deadline = std::chrono::steady_clock::now() + kLookMax;
  const std::int64_t enough = 1 + ground_.quotas.now().kept_sessions_max / kDeletedPart;
  std::int64_t deleted = 0;
  SessionPlace after;
  while (true) {
    const auto some = session_lists_.unnamed(principal_id, after, kLookedAtOnce);
    if (!some.ok() || some.value().empty()) return deleted > 0;
    for (const Session& session : some.value()) {
      after = {session.last_used_at, session.id};
      if (std::chrono::steady_clock::now() > deadline) return deleted > 0;
      const bool is_gone = ends_.is_left(session) &&
                           ends_.delete_if_nothing(session, "there was nothing in it, and no room");
      if (is_gone && ++deleted == enough) return true;
    }
  }
}

Error SessionRoom::with_names(Error limit, const std::string& principal_id) {
  if (base::is_full_disk(limit)) return limit;  // it is nobody's share that is used up
  auto sessions = session_lists_.with_box(principal_id);
  if (sessions.ok() && !boxes_are_full(sessions.value())) {
    sessions = session_lists_.oldest(principal_id, kNamesMax);
  }
  if (!sessions.ok() || sessions.value().empty()) return limit;
  std::string names;
  std::int64_t left = kNamesMax;
  for (const Session& session : sessions.value()) {
    if (left-- == 0) break;
    base::append_part(names, session.name.value_or(session.id));
  }
  limit.message += "; those unused for longest: " + names;
  return limit;
}

base::Status SessionRoom::make_room_for_unasked(const std::string& principal_id) {
  std::vector<SessionState> live;
  for (Session& session : TRY(session_lists_.unasked(principal_id))) {
    const bool starts = session.status == SessionStatus::kProvisioning &&
                        base::now_ms() - session.created_at < kStartingMs;
    if (starts || ground_.is_owned(session.id)) {
      live.push_back({std::move(session), {}});
    }
  }
  if (live.size() < kUnaskedLiveMax) return base::done();
  states_.ask_boxes(live);
  // The one first that has not been used for longest.
  for (auto state = live.begin(); state != live.end() && live.size() >= kUnaskedLiveMax;) {
    const bool idle = state->session.status == SessionStatus::kReady ||
                      state->session.status == SessionStatus::kPaused;
    const bool ended = idle && give_way(state->session).ok();
    state = ended ? live.erase(state) : std::next(state);
  }
  if (live.size() >= kUnaskedLiveMax) return all_busy(live);
  return base::done();
}

base::Status SessionRoom::give_way(const Session& session) {
  const auto box = TRY(ground_.sandbox.look_at(session.id));
  TRY(box->shutdown_if_idle("it gave way to newer sessions made without a session_id"));
  TRY(sessions_.set_status(session.id, SessionStatus::kStopped, "another session took its place"));
  return base::done();
}

}  // namespace sessions
