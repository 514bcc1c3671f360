// Sessions made for calls that name none, of clients without a connection: nobody says when such a
// one is done with, so few of them keep a box.
#include <algorithm>

#include "sandbox/base/clock.h"
#include "sessions/manager.h"

namespace sessions {
namespace {

// Per principal.
constexpr std::size_t kUnaskedLiveMax = 10;
// How long one may be without a box while it is being made.
constexpr std::int64_t kStartMsMax = 60'000;

base::Error all_busy(const std::vector<SessionState>& live) {
  std::string ids;
  for (const SessionState& state : live) ids += (ids.empty() ? "" : ", ") + state.session.id;
  return base::error(base::Error::Kind::kLimit,
                     std::to_string(live.size()) +
                         " sessions that were made because a call named none are still at work: "
                         "pass session_id to go on in one of them, create_session makes another: " +
                         ids);
}

}  // namespace

base::Result<Session> Manager::take_unasked_row(const Session& wanted) {
  const auto lock = lock_of("unasked " + wanted.principal_id);
  const std::lock_guard one_at_a_time(*lock);  // until its row counts
  TRY(make_room_for_unasked(wanted.principal_id));
  return take_row(wanted);
}

base::Status Manager::make_room_for_unasked(const std::string& principal_id) {
  std::vector<SessionState> live;
  for (Session& session : TRY(store_.unasked_sessions(principal_id))) {
    const bool starts = session.status == SessionStatus::kProvisioning &&
                        base::now_ms() - session.created_at < kStartMsMax;
    if (starts || sandbox_.is_alive(directory_of(session.id))) {
      live.push_back({std::move(session), {}});
    }
  }
  if (live.size() < kUnaskedLiveMax) return base::done();
  ask_boxes(live);
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

base::Status Manager::give_way(const Session& session) {
  const auto box = TRY(sandbox_.look_at(session.id));
  TRY(box->shutdown_if_idle("it gave way to newer sessions made without a session_id"));
  TRY(store_.set_session_status(session.id, SessionStatus::kStopped,
                                "another session took its place"));
  return base::done();
}

}  // namespace sessions
