// Sessions that are frozen for a while, and go on.
#include "sandbox/base/clock.h"
#include "sessions/manager.h"

namespace sessions {
namespace {

// Whether `failed` may have come of it that there is no box.
bool is_silence(const base::Status& failed) {
  const auto kind = failed.error().kind;
  return kind == base::Error::Kind::kNotFound || kind == base::Error::Kind::kUnavailable;
}

}  // namespace

base::Result<SessionState> Manager::pause(const std::string& principal_id, const std::string& id) {
  Session session = TRY(find(principal_id, id));
  if (session.status == SessionStatus::kDestroyed) return deleted();
  base::Status paused = base::done();
  bool lives = true;
  (void)wait_until(kOthersPatience, [&] {
    paused = pause_box(session.id);
    if (paused.ok() || !is_silence(paused)) return true;
    lives = sandbox_.is_alive(directory_of(session.id));
    return !lives;
  });
  // A session that has nothing running is not started to be frozen.
  if (!lives) return state_of(std::move(session));
  TRY(paused);
  TRY(store_.set_session_status(session.id, SessionStatus::kPaused, ""));
  return state_of(std::move(session));
}

base::Status Manager::pause_box(const std::string& session_id) {
  return TRY(sandbox_.find(session_id))->pause();
}

base::Result<SessionState> Manager::resume(const std::string& principal_id, const std::string& id) {
  Session session = TRY(find(principal_id, id));
  TRY(with_live_box(session, [](sandbox::Box& box) { return box.resume(); }));
  TRY(store_.set_session_status(session.id, SessionStatus::kReady, ""));
  TRY(store_.touch_session(session.id, base::now_ms()));
  return state_of(std::move(session));
}

}  // namespace sessions
