#include "sessions/sweeper.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/random_id.h"
#include "sandbox/dropped_outputs.h"
#include "sandbox/files/session_contents.h"
#include "sandbox/files/tree.h"
#include "sessions/at_once.h"
#include "sessions/past_table.h"
#include "sessions/patience.h"
#include "sessions/session.h"
#include "sessions/session_directory.h"
#include "sessions/session_lists.h"
#include "sessions/session_table.h"
#include "sessions/session_time.h"
#include "sessions/upkeep_table.h"

namespace sessions {

namespace {

// A gigabyte; what is left then the next round gives back.
constexpr int kShrinkRoundsMax = 256;
// How long a session may be without a box while that is being made.
constexpr std::int64_t kMakingMsMax = 60'000;

// This end of a session's time follows from a clock that anybody may set, as its lifetime does
// not.
bool is_unused(const Session& session, const Moment& now) {
  return now.now_ms >= session.last_used_at + session.retention_seconds * 1000;
}

// A directory of no session on record, as when the database was moved aside: nothing is in it, or
// nothing has changed in it since then.
bool is_stale(const std::string& directory, std::int64_t since_ms) {
  const auto opened = base::open_file(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!opened.ok()) return false;
  const auto names = base::names_in(opened.value().get());
  const bool is_bare = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return name == sandbox::kLockPart;
  });
  if (is_bare || !sandbox::files::may_hold_something(opened.value().get())) return true;
  constexpr std::array<const char*, 5> kLooked{".", sandbox::kLockPart, sandbox::kWorkspacePart,
                                               sandbox::kHomePart, sandbox::kRunsPart};
  return std::all_of(kLooked.begin(), kLooked.end(), [&](const char* name) {
    struct stat status {};
    const bool is_there = ::fstatat(opened.value().get(), name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    return !is_there || static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1000 < since_ms;
  });
}

// Its lifetime was counted by a clock that nobody sets.
bool is_surely_over(const Session& session, const Moment& now) {
  return session.boot_id == now.boot_id && lifetime_is_over(session, now);
}

}  // namespace

Sweeper::Sweeper(Ground& ground, const Parts& parts)
    : ground_(ground),
      parts_(parts),
      pruner_(ground, parts.past),
      served_since_ms_(ground.config.clock().uptime_ms) {}

void Sweeper::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { sweep_from_time_to_time(stop); });
}

void Sweeper::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void Sweeper::sweep_from_time_to_time(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    sweep(stop);
    if (!stop.stop_requested()) ground_.config.sweep_others();
    ground_.sandbox.rest();
    wait_for_next_sweep(stop);
  }
  clear_up_after_ended();  // for a command that has just found it
}

void Sweeper::wait_for_next_sweep(const std::stop_token& stop) {
  const auto next = std::chrono::steady_clock::now() + ground_.config.sweep_interval;
  while (parts_.ended.wait_until(next, stop)) clear_up_after_ended();
}

// Processes that were frozen in a box that was killed are still there, and the row says
// "paused". Whoever has the session's lock meanwhile clears up by itself.
void Sweeper::clear_up_after_ended() {
  const std::vector<std::string> ended = parts_.ended.take();
  at_once(ended.size(), [&](std::size_t i) {
    const auto session = parts_.sessions.find_of_any(ended[i]);
    if (!session.ok()) return;
    const bool is_spare = session.value().principal_id == kSparePrincipal;
    is_spare ? parts_.spares.sweep(session.value()) : clear_up(session.value());
  });
}

void Sweeper::sweep(const std::stop_token& stop) {
  const auto sessions = parts_.session_lists.live();
  if (!sessions.ok()) return;  // the database is busy: the next round does it
  const std::vector<Session>& live = sessions.value();
  const Moment now = ground_.config.clock();
  const auto may_delete = may_delete_in_sweep(live, now);
  if (!may_delete) return;
  at_once(live.size(), [&](std::size_t i) {
    if (!stop.stop_requested()) sweep_session(live[i], now, *may_delete);
  });
  if (!stop.stop_requested()) sweep_directories(live, now, *may_delete, stop);
  if (*may_delete && !stop.stop_requested()) {
    (void)parts_.upkeep.end_sweep();
    pruner_.prune(stop, now);
  }
  for (int round = 0; round < kShrinkRoundsMax && !stop.stop_requested(); ++round) {
    const auto more = parts_.past.shrink();
    if (!more.ok() || !more.value()) break;
    pause_for_box();  // tools want the database too
  }
}

std::optional<bool> Sweeper::may_delete_in_sweep(const std::vector<Session>& live,
                                                 const Moment& now) {
  Due due;
  for (const Session& session : live) {
    if (session.principal_id == kSparePrincipal) continue;
    ++due.all;
    if (is_surely_over(session, now)) continue;
    if (lifetime_is_over(session, now) || is_unused(session, now)) ++due.sessions;
  }
  const auto unknown = static_cast<std::int64_t>(strangers(live, now).size());
  due.all += unknown;
  due.sessions += unknown;
  const auto others = parts_.past.has_any();
  if (!others.ok()) return std::nullopt;
  due.others = others.value();
  const auto decided =
      parts_.upkeep.begin_sweep(now, served_since_ms_, due, ground_.quotas.now().retention_seconds);
  if (!decided.ok()) return std::nullopt;
  served_since_ms_ = now.uptime_ms;
  if (decided.value().has_begun) {
    ground_.config.notify({Notice::Level::kWarning, words_of_hold(decided.value().next)});
  }
  return decided.value().may_delete;
}

std::vector<std::string> Sweeper::strangers(const std::vector<Session>& live,
                                            const Moment& now) const {
  std::vector<std::string> found;
  const auto parent = base::open_file(AT_FDCWD, sessions_directory(ground_.config.state_directory),
                                      O_RDONLY | O_DIRECTORY);
  if (!parent.ok()) return found;
  std::set<std::string_view> known;
  for (const Session& session : live) known.insert(session.id);
  for (std::string& name : base::names_in(parent.value().get())) {
    if (known.contains(name) || !base::is_short_id(name, "session_")) continue;
    const auto on_record = parts_.sessions.is_on_record(name);
    const bool is_strange = on_record.ok() && !on_record.value();
    if (is_strange && is_stale(ground_.files_of(name).path(),
                               now.now_ms - ground_.quotas.now().retention_seconds * 1000)) {
      found.push_back(std::move(name));
    }
  }
  return found;
}

// One line a sweep, however many they are.
void Sweeper::tell_dropped_outputs(const Session& session) const {
  const auto directory = base::open_file(AT_FDCWD, ground_.files_of(session.id).path(),
                                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!directory.ok()) return;
  const auto dropped = sandbox::take_dropped_outputs(directory.value().get());
  if (dropped.runs == 0) return;
  ground_.config.notify({Notice::Level::kInfo,
                         "outputs of the oldest runs deleted, " + std::to_string(dropped.bytes) +
                             " bytes of " + std::to_string(dropped.runs) +
                             " runs: all together are kept up to disk_mb",
                         session.principal_id, session.id});
}

void Sweeper::sweep_session(const Session& session, const Moment& now, bool may_delete) {
  if (session.principal_id == kSparePrincipal) return parts_.spares.sweep(session);
  tell_dropped_outputs(session);
  if (ground_.config.autosave_mb > 0) (void)parts_.shares.tell(session);
  // A failure here is tried again at the next round.
  const bool has_ended = lifetime_is_over(session, now);
  const bool is_due = has_ended || is_unused(session, now);
  if (is_due && (may_delete || is_surely_over(session, now))) {
    const auto box = ground_.sandbox.look_at(session.id);
    const auto status =
        box.ok() ? box.value()->status() : base::Result<sandbox::BoxStatus>(box.error());
    const bool busy = status.ok() && !status.value().active.empty();
    if (has_ended) {
      parts_.ends.expire(session, "its lifetime_seconds are over");
    } else if (!busy) {
      parts_.ends.expire(session, "it was not used for its retention_seconds, " +
                                      std::to_string(session.retention_seconds));
    }
    return;
  }
  clear_up(session);
}

void Sweeper::clear_up(const Session& session) {
  const std::string directory = ground_.files_of(session.id).path();
  auto owned = sandbox::SessionLock::take(directory);
  // Without a directory nothing was ever started, or everything was removed by hand.
  if (!owned.ok() && owned.error().kind != base::Error::Kind::kNotFound) return;
  if (owned.ok()) ground_.sandbox.sweep(session.id, directory, owned.value());
  (void)(owned.ok() ? parts_.journals.take_last(session.id) : parts_.journals.take(session.id));
  (void)parts_.ledger.settle_all(session.id,
                                 owned.ok() ? RunLedger::Owner::kUs : RunLedger::Owner::kUnknown);
  const bool was_alive = session.status == SessionStatus::kReady ||
                         session.status == SessionStatus::kPaused ||
                         (session.status == SessionStatus::kProvisioning &&
                          base::now_ms() - session.last_used_at > kMakingMsMax);
  if (was_alive) (void)parts_.sessions.set_status(session.id, SessionStatus::kStopped, "");
  owned = base::error(base::Error::Kind::kNotFound, "");  // who deletes takes it anew
  if (!session.name && session.ends_with_connection && parts_.ends.is_left(session)) {
    (void)parts_.ends.delete_if_nothing(session,
                                        "its connection has ended, and there was nothing in it");
  }
}

void Sweeper::tell_remade(const std::vector<std::string>& names) const {
  if (names.empty()) return;
  const std::string count =
      names.size() == 1 ? "directory" : std::to_string(names.size()) + " directories";
  ground_.config.notify({Notice::Level::kInfo,
                         count + " deleted, made again after the end of a deleted session", "",
                         names.front()});
}

void Sweeper::sweep_directories(const std::vector<Session>& live, const Moment& now,
                                bool may_delete, const std::stop_token& stop) {
  const std::string top = sessions_directory(ground_.config.state_directory);
  const auto parent = base::open_file(AT_FDCWD, top, O_RDONLY | O_DIRECTORY);
  if (!parent.ok()) return;
  // Deleted ones whose end was cut short.
  if (const auto unburied = parts_.session_lists.unburied(); unburied.ok()) {
    for (const Session& session : unburied.value()) {
      if (stop.stop_requested()) return;
      (void)parts_.ends.bury(session);
    }
  }
  const auto remove = [&](const std::string& name) {
    const auto lock = sandbox::SessionLock::take(ground_.files_of(name).path());
    if (!lock.ok()) return false;
    ground_.sandbox.sweep(name, ground_.files_of(name).path(), lock.value());
    return sandbox::files::remove_tree(parent.value().get(), name).ok();
  };
  // Directories of destroyed sessions may have been made again by somebody who came too late.
  std::vector<std::string> remade;
  for (const std::string& name : base::names_in(parent.value().get())) {
    if (!base::is_short_id(name, "session_")) continue;
    const auto is_live = parts_.sessions.is_live(name);
    const auto on_record = parts_.sessions.is_on_record(name);
    const bool is_left = is_live.ok() && !is_live.value() && on_record.ok() && on_record.value();
    if (is_left && remove(name)) remade.push_back(name);
  }
  tell_remade(remade);
  if (may_delete) {
    for (const std::string& name : strangers(live, now)) {
      const auto on_record = parts_.sessions.is_on_record(name);
      if (!on_record.ok() || on_record.value() || !remove(name)) continue;
      ground_.config.notify({Notice::Level::kInfo,
                             "directory deleted: the database knows of no such session", "", name});
    }
  }
  ground_.servers.sweep();
}

}  // namespace sessions
