#include "sessions/boxes.h"

#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "sandbox/host_capacity.h"
#include "sessions/box_grants.h"
#include "sessions/box_specs.h"
#include "sessions/file_owners.h"
#include "sessions/ground.h"
#include "sessions/network_journals.h"
#include "sessions/patience.h"
#include "sessions/restarts.h"
#include "sessions/run_ledger.h"
#include "sessions/session_directory.h"
#include "sessions/session_ends.h"
#include "sessions/session_room.h"
#include "sessions/session_table.h"
#include "sessions/session_time.h"

namespace sessions {

using base::Error;

namespace {

// How often a new box is tried when one dies.
constexpr int kBoxAttempts = 2;
// A deletion makes room once the box has looked, and a promise is counted once, by the look
// after the next.
constexpr std::chrono::milliseconds kLookPatience{2500};

}  // namespace

base::Result<std::shared_ptr<sandbox::Box>> Boxes::box_of(const Session& session) {
  if (session.status == SessionStatus::kDestroyed) return deleted();
  if (lifetime_is_over(session)) return parts_.ends.end_of_lifetime(session);
  if (auto box = ground_.sandbox.find(session.id);
      box.ok() && parts_.grants.are_known(session.id)) {
    return box;
  }
  const auto lock = ground_.locks.of(session.id);
  const std::lock_guard one_at_a_time(*lock);
  auto box = find_or_start(session);
  // The steps of this server meet limits of the machine as well as those of the launch do.
  if (!box.ok()) return sandbox::with_capacity_described(std::move(box).error());
  return box;
}

base::Result<std::shared_ptr<sandbox::Box>> Boxes::find_or_start(const Session& session) {
  const auto deadline = std::chrono::steady_clock::now() + kOthersPatience;
  while (true) {
    auto box = ground_.sandbox.find(session.id);
    // One of another version says so, and is left alone.
    if (!box.ok() && box.error().kind == Error::Kind::kUnsupported) return box;
    if (box.ok()) {
      const auto held = parts_.grants.hold(session, *box.value());
      if (held.ok() && held.value()) return box;
      // One that has ended since it was found makes room for another.
      if (!held.ok() && held.error().kind != Error::Kind::kUnavailable) return held.error();
    }
    // It may have been deleted since the caller looked, and again until its lock is held.
    const Session now = TRY(parts_.sessions.find(session.principal_id, session.id));
    if (now.status == SessionStatus::kDestroyed) return deleted();
    const auto owned = ground_.own(session.id);
    if (owned.ok()) {
      auto started = start(session, owned.value());
      ground_.note_start(session, started.ok() ? nullptr : &started.error());
      return started;
    }
    // Another server is starting one, which will answer, or removes what is left of the last.
    const bool somebodys = owned.error().kind == Error::Kind::kConflict ||
                           owned.error().kind == Error::Kind::kNotFound;
    if (!somebodys) ground_.note_start(session, &owned.error());
    if (!somebodys || std::chrono::steady_clock::now() >= deadline) return owned.error();
    pause_for_box();
  }
}

base::Result<std::shared_ptr<sandbox::Box>> Boxes::start(const Session& known,
                                                         const sandbox::SessionLock& lock) {
  const Session found = TRY(parts_.sessions.find(known.principal_id, known.id));
  // A sweep removes what own() has made.
  if (found.status == SessionStatus::kDestroyed) return deleted();
  if (found.unreadable) {
    return base::error(Error::Kind::kInternal, found.id + ": " + *found.unreadable);
  }
  const Session session = TRY(parts_.owners.with_own_files(found));
  const SessionDirectory files = ground_.files_of(session.id);
  const bool is_first = TRY(files.make_parts(session));
  if (!is_first) ground_.sandbox.sweep(session.id, files.path(), lock);
  TRY(parts_.ledger.settle_all(session.id, RunLedger::Owner::kUs));
  TRY(parts_.journals.take_last(session.id));
  if (ground_.config.network.quota.principal_bytes_a_day) TRY(parts_.journals.take_all());
  sandbox::BoxSpec spec = TRY(parts_.specs.spec_of(session));
  const auto restarts = parts_.restarts.due(session);
  if (!restarts.empty()) base::append_part(spec.note, Restarts::note_of(restarts), "; ");
  auto box = TRY(start_counted(session, spec, lock));
  parts_.restarts.begin(session, *box, restarts);
  TRY(parts_.sessions.set_status(session.id, SessionStatus::kReady, ""));
  if (TRY(parts_.sessions.is_live(session.id))) return box;
  // Deleted meanwhile, by who could not end what was not there yet.
  (void)box->shutdown("the session was deleted", sandbox::Box::kShutdownPatience);
  return deleted();
}

base::Result<std::shared_ptr<sandbox::Box>> Boxes::start_counted(const Session& session,
                                                                 const sandbox::BoxSpec& spec,
                                                                 const sandbox::SessionLock& lock) {
  const bool is_claimed = TRY(parts_.room.claim_box(session));
  auto started = ground_.sandbox.start(spec, lock);
  if (!started.ok()) {
    if (is_claimed) (void)parts_.sessions.unclaim_box(session);
    // It may have made something before it failed.
    ground_.sandbox.sweep(session.id, spec.session_directory, lock);
    return std::move(started).error();
  }
  auto box = std::move(started).value();
  // The box that another server was faster to start is looked at by the next use.
  const auto status = box->status();
  if (status.ok()) {
    TRY(parts_.sessions.set_isolation(session.id, status.value().isolation));
    parts_.grants.remember(session.id, status.value(), spec);
  }
  return box;
}

base::Status Boxes::with_live_box(const Session& session,
                                  const std::function<base::Status(sandbox::Box&)>& call,
                                  std::shared_ptr<sandbox::Box> known) {
  for (int attempt = 0;; ++attempt) {
    const auto box = known != nullptr ? std::exchange(known, nullptr) : TRY(box_of(session));
    auto status = call(*box);
    const bool died = !status.ok() && status.error().kind == Error::Kind::kUnavailable;
    if (!died || attempt == kBoxAttempts) return status;
    (void)wait_until(kEndPatience, [&] { return !ground_.is_owned(session.id); });
  }
}

base::Result<base::UniqueFd> Boxes::root_of(const Session& session) {
  // On a full disk its files can be read and deleted all the same.
  const auto touched = parts_.sessions.touch(session.id, base::now_ms());
  if (!touched.ok() && touched.error().kind != Error::Kind::kLimit) return touched.error();
  base::UniqueFd root;
  const auto got = with_live_box(session, [&root](sandbox::Box& box) -> base::Status {
    root = TRY(box.root());
    return base::done();
  });
  if (!got.ok()) return got.error();
  return root;
}

base::Result<base::UniqueFd> Boxes::look_at_root(const Session& session) {
  return TRY(ground_.sandbox.look_at(session.id))->root();
}

std::shared_ptr<std::mutex> Boxes::lock_of_files(const Session& session) {
  return ground_.locks.of("files of " + session.id);
}

base::Status Boxes::take_disk_room(const Session& session, std::int64_t bytes,
                                   sandbox::RoomFor what) {
  auto taken = base::done();
  (void)wait_until(kLookPatience, [&] {
    taken = with_live_box(
        session, [bytes, what](sandbox::Box& box) { return box.take_disk_room(bytes, what); });
    return taken.ok() || taken.error().kind != base::Error::Kind::kLimit;
  });
  return taken;
}

void Boxes::disk_written(const Session& session, std::int64_t bytes) {
  if (const auto box = ground_.sandbox.find(session.id); box.ok()) {
    box.value()->disk_written(bytes);
  }
}

base::Result<sandbox::BoxStatus> Boxes::live_status(const Session& session) {
  const auto box = TRY(ground_.sandbox.look_at(session.id));
  return box->status();
}

void Boxes::keep_awake(const Session& session) {
  if (const auto box = ground_.sandbox.find(session.id); box.ok()) (void)box.value()->keep_awake();
}

base::Status Boxes::end_context(const Session& session, const std::string& context) {
  return TRY(ground_.sandbox.find(session.id))->end_context(context);
}

base::Result<base::UniqueFd> Boxes::connect(const Session& session, std::uint16_t port) {
  const auto box = ground_.sandbox.find(session.id);
  if (!box.ok()) {
    return base::error(
        Error::Kind::kNotFound,
        "the session does not run, so nothing listens on port " + std::to_string(port));
  }
  base::UniqueFd there = TRY(box.value()->connect(port));
  // That has resumed it. Where the row cannot be written, a look at the box still says so.
  if (session.status == SessionStatus::kPaused) {
    (void)parts_.sessions.set_status(session.id, SessionStatus::kReady, "");
  }
  return there;
}

base::Status Boxes::restart(const Session& session) {
  const auto box = ground_.sandbox.look_at(session.id);
  if (!box.ok() && box.error().kind == Error::Kind::kNotFound) return base::done();
  return TRY(box)->shutdown_if_idle("whoever runs hutch has started the session anew");
}

}  // namespace sessions
