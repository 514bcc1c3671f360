// The sweep: at start and from time to time, whatever dead servers and boxes left is put right.
#include <fcntl.h>
#include <unistd.h>

#include "sandbox/base/clock.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/random_id.h"
#include "sandbox/files/tree.h"
#include "sessions/at_once.h"
#include "sessions/manager.h"

namespace sessions {
namespace {

// A gigabyte; what is left then the next round gives back.
constexpr int kShrinkRoundsMax = 256;

bool is_over(const Session& session, std::int64_t now) {
  if (lifetime_is_over(session, now)) return true;
  return now >= session.last_used_at + session.retention_seconds * 1000;
}

}  // namespace

void Manager::sweep_from_time_to_time(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    sweep(stop);
    if (!stop.stop_requested()) config_.sweep_others();
    sandbox_.rest();
    std::unique_lock lock(sweeper_mutex_);
    sweeper_wakeup_.wait_for(lock, stop, config_.sweep_interval, [] { return false; });
  }
}

void Manager::sweep(const std::stop_token& stop) {
  const auto sessions = store_.live_sessions();
  if (!sessions.ok()) return;  // the database is busy: the next round does it
  const std::vector<Session>& live = sessions.value();
  at_once(live.size(), [&](std::size_t i) {
    if (!stop.stop_requested()) sweep_session(live[i]);
  });
  if (!stop.stop_requested()) sweep_directories(stop);
  for (int round = 0; round < kShrinkRoundsMax && !stop.stop_requested(); ++round) {
    const auto more = store_.shrink();
    if (!more.ok() || !more.value()) break;
    pause_for_box();  // tools want the database too
  }
}

void Manager::sweep_session(const Session& session) {
  if (session.principal_id == kSparePrincipal) return sweep_spare(session);
  // What fails here is tried again at the next round.
  const std::int64_t now = base::now_ms();
  if (is_over(session, now)) {
    const auto box = sandbox_.look_at(session.id);
    const auto status =
        box.ok() ? box.value()->status() : base::Result<sandbox::BoxStatus>(box.error());
    const bool busy = status.ok() && !status.value().active.empty();
    if (!busy || lifetime_is_over(session, now)) (void)end_session(session, "its time is over");
    return;
  }
  const std::string directory = directory_of(session.id);
  const auto owned = sandbox::SessionLock::take(directory);
  // Without a directory nothing was ever started, or everything was removed by hand.
  if (!owned.ok() && owned.error().kind != base::Error::Kind::kNotFound) return;
  if (owned.ok()) sandbox_.sweep(session.id, directory, owned.value());
  (void)take_journal(session.id);
  const auto unfinished = store_.unfinished_runs(session.id);
  if (unfinished.ok()) {
    for (const Run& row : unfinished.value()) {
      (void)settle(row, owned.ok() ? Owner::kUs : Owner::kUnknown);
    }
  }
  const bool was_alive = session.status == "ready" || session.status == "paused";
  if (was_alive) (void)store_.set_session_status(session.id, "stopped", "");
}

void Manager::sweep_directories(const std::stop_token& stop) {
  const std::string top = config_.state_directory + "/sessions";
  const auto parent = base::open_file(AT_FDCWD, top, O_RDONLY | O_DIRECTORY);
  if (!parent.ok()) return;
  // Deleted ones whose end was cut short.
  if (const auto unburied = store_.unburied_sessions(); unburied.ok()) {
    for (const Session& session : unburied.value()) {
      if (stop.stop_requested()) return;
      (void)bury(session);
    }
  }
  for (const std::string& name : base::names_in(parent.value().get())) {
    if (!base::is_short_id(name, "session_")) continue;
    const auto owned = store_.session_is_live(name);
    if (!owned.ok() || owned.value()) continue;
    const auto lock = sandbox::SessionLock::take(directory_of(name));
    if (!lock.ok()) continue;
    sandbox_.sweep(name, directory_of(name), lock.value());
    (void)sandbox::files::remove_tree(parent.value().get(), name);
  }
  sweep_server_marks();
}

}  // namespace sessions
