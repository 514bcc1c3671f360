#include "sessions/sessions.h"

#include <mutex>
#include <utility>

#include "base/clock.h"
#include "sessions/at_once.h"
#include "sessions/box_specs.h"
#include "sessions/boxes.h"
#include "sessions/connection_sessions.h"
#include "sessions/ground.h"
#include "sessions/host_id.h"
#include "sessions/patience.h"
#include "sessions/session_ends.h"
#include "sessions/session_room.h"
#include "sessions/session_states.h"
#include "sessions/session_table.h"
#include "sessions/session_time.h"
#include "sessions/spare_pool.h"

namespace sessions {

using base::Error;

namespace {

constexpr std::size_t kNameBytesMax = 100;
constexpr std::int64_t kLifetimeSecondsMax = 365LL * 86400;

// Returns whether `failed` may have come of it that there is no box.
bool is_silence(const base::Status& failed) {
  const auto kind = failed.error().kind;
  return kind == base::Error::Kind::kNotFound || kind == base::Error::Kind::kUnavailable;
}

}  // namespace

base::Status check_session_name(const std::string& name) {
  const bool good = name.size() <= kNameBytesMax &&
                    name.find_first_not_of(
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789-_. ") == std::string::npos &&
                    !name.starts_with("session_");
  if (good) return base::done();
  return base::error(Error::Kind::kInvalid,
                     "a session name has at most 100 letters, digits, spaces, '-', '_' or '.', and "
                     "does not begin with \"session_\"");
}

base::Result<SessionState> Sessions::create(const std::string& principal_id,
                                            const SessionOptions& options) {
  return start_new(TRY(make_row(principal_id, options)));
}

base::Result<Session> Sessions::make_row(const std::string& principal_id,
                                         const SessionOptions& options) {
  const Session wanted = TRY(wanted_row(principal_id, options));
  (void)TRY(parts_.specs.environment_of(wanted));
  Session session = TRY(wanted.unasked ? take_unasked_row(wanted) : take_row(wanted));
  if (session.ends_with_connection) {
    parts_.connections.add_owned(options.connection_id, session.id);
  }
  return session;
}

base::Result<Session> Sessions::wanted_row(const std::string& principal_id,
                                           const SessionOptions& options) {
  TRY(check_session_name(options.name));
  const Quotas now = ground_.quotas.now();
  if (options.limits) TRY(sandbox::check_limits(*options.limits, now.most_limits));
  if (options.lifetime_seconds &&
      (*options.lifetime_seconds < 1 || *options.lifetime_seconds > kLifetimeSecondsMax)) {
    return base::error(Error::Kind::kInvalid,
                       "lifetime_seconds must be from 1 to " + std::to_string(kLifetimeSecondsMax));
  }
  Session wanted = ground_.new_session(principal_id, options.limits.value_or(now.default_limits));
  if (!options.name.empty()) wanted.name = options.name;
  wanted.ends_with_connection = options.name.empty() && !options.connection_id.empty();
  wanted.env = options.env;
  wanted.lifetime_seconds = options.lifetime_seconds;
  wanted.metadata = options.metadata;
  wanted.working_directory = options.working_directory;
  wanted.public_ports = options.public_ports;
  wanted.wakes_by_port = options.wakes_by_port;
  wanted.pauses_at_end = options.pauses_at_end;
  wanted.port_host = options.port_host;
  wanted.host_folders = TRY(choose_folders(options.filesystem, ground_.config.folders));
  wanted.paths = TRY(choose_paths(options.filesystem));
  wanted.network = TRY(choose(options.network, ground_.config.network));
  wanted.unasked = options.unasked;
  if (wanted.ends_with_connection) {
    wanted.connection_server = ground_.servers.own_id();
    if (!ground_.config.connections_end_with_server) {
      wanted.connection_server = kLastingConnection + (" " + *wanted.connection_server);
    }
  }
  if (!options.template_name.empty()) wanted.template_name = options.template_name;
  return wanted;
}

base::Result<Session> Sessions::take_row(const Session& wanted) {
  return parts_.room.take_row(wanted.principal_id, [&]() -> base::Result<Session> {
    const Quotas now = ground_.quotas.now();
    const SessionBounds bounds(now.sessions_max, now.kept_sessions_max);
    if (auto adopted = TRY(parts_.spares.adopt(wanted, bounds))) return *std::move(adopted);
    return parts_.sessions.create(wanted, ground_.config.own_ids, bounds);
  });
}

base::Result<Session> Sessions::take_unasked_row(const Session& wanted) {
  const auto lock = ground_.locks.of("unasked " + wanted.principal_id);
  const std::lock_guard one_at_a_time(*lock);  // until its row counts
  TRY(parts_.room.make_room_for_unasked(wanted.principal_id));
  return take_row(wanted);
}

base::Result<SessionState> Sessions::start_new(const Session& session) {
  auto made = state_of_new(session);
  if (!made.ok()) {
    // Nobody uses it now: no process of it may live on. A later use starts it again.
    if (const auto box = ground_.sandbox.look_at(session.id); box.ok())
      (void)box.value()->shutdown("it did not start as it should", sandbox::Box::kShutdownPatience);
    if (made.error().kind == Error::Kind::kCapacity) {
      // Its caller has no id of it, and asks for another one later.
      (void)parts_.ends.end(session, made.error().message);
    } else {
      (void)parts_.sessions.set_status(session.id, SessionStatus::kError, made.error().message);
    }
  }
  return made;
}

base::Result<SessionState> Sessions::state_of_new(const Session& session) {
  TRY(parts_.boxes.box_of(session));
  return parts_.states.state_of(TRY(find(session.principal_id, session.id)));
}

base::Result<Session> Sessions::find_or_create_named(const std::string& principal_id,
                                                     const std::string& name) {
  if (auto session = find(principal_id, name); session.ok()) return session;
  SessionOptions options;
  options.name = name;
  auto created = create(principal_id, options);
  if (created.ok()) return std::move(created).value().session;
  // Another server may have made it in between.
  if (created.error().kind == Error::Kind::kConflict) return find(principal_id, name);
  return std::move(created).error();
}

base::Result<Session> Sessions::session_of_connection(const std::string& principal_id,
                                                      const std::string& connection_id) {
  const auto lock = ground_.locks.of(principal_id + " " + connection_id);
  const std::lock_guard one_at_a_time(*lock);
  if (const std::string known = parts_.connections.default_of({principal_id, connection_id});
      !known.empty()) {
    auto session = find(principal_id, known);
    // Deleted by the client: the next use makes a new one.
    if (session.ok() && session.value().status != SessionStatus::kDestroyed) return session;
  }
  SessionOptions options;
  options.connection_id = connection_id;
  const Session made = TRY(make_row(principal_id, options));
  // Also of one that does not start: the next call tries it again, and makes no other.
  parts_.connections.set_default({principal_id, connection_id}, made.id);
  return TRY(start_new(made)).session;
}

base::Result<Session> Sessions::find(const std::string& principal_id,
                                     const std::string& id_or_name) {
  auto session = parts_.sessions.find(principal_id, id_or_name);
  if (session.ok() || session.error().kind != Error::Kind::kNotFound) return session;
  const std::string id = session_id_of(id_or_name);
  return id == id_or_name ? session : parts_.sessions.find(principal_id, id);
}

base::Result<Session> Sessions::find_live(const std::string& principal_id,
                                          const std::string& id_or_name) {
  auto session = find(principal_id, id_or_name);
  if (session.ok() && !is_live(session.value())) return deleted();
  return session;
}

base::Result<SessionState> Sessions::pause(const std::string& principal_id, const std::string& id) {
  Session session = TRY(find(principal_id, id));
  if (session.status == SessionStatus::kDestroyed) return deleted();
  base::Status paused = base::done();
  bool lives = true;
  (void)wait_until(kOthersPatience, [&] {
    paused = pause_box(session.id);
    if (paused.ok() || !is_silence(paused)) return true;
    lives = ground_.is_owned(session.id);
    return !lives;
  });
  // A session that has nothing running is not started to be frozen.
  if (!lives) return parts_.states.state_of(std::move(session));
  TRY(paused);
  TRY(parts_.sessions.set_status(session.id, SessionStatus::kPaused, ""));
  return parts_.states.state_of(std::move(session));
}

base::Status Sessions::pause_box(const std::string& session_id) {
  return TRY(ground_.sandbox.find(session_id))->pause();
}

base::Result<SessionState> Sessions::resume(const std::string& principal_id,
                                            const std::string& id) {
  Session session = TRY(find(principal_id, id));
  const auto woken_from = parts_.states.tier_now(session.id);
  TRY(parts_.boxes.with_live_box(session, [](sandbox::Box& box) { return box.resume(); }));
  TRY(parts_.sessions.set_status(session.id, SessionStatus::kReady, ""));
  TRY(parts_.sessions.touch(session.id, base::now_ms()));
  SessionState state = TRY(parts_.states.state_of(std::move(session)));
  state.woken_from = woken_from;
  return state;
}

base::Status Sessions::destroy(const std::string& principal_id, const std::string& id) {
  const Session session = TRY(find(principal_id, id));
  if (session.status == SessionStatus::kDestroyed) {
    return base::error(Error::Kind::kNotFound, "this session was deleted before");
  }
  return parts_.ends.end(session, "deleted by its owner");
}

base::Status Sessions::set_lifetime(const Session& session, std::int64_t seconds) {
  const Moment now = moment_now();
  Session changed = session;
  changed.lifetime_seconds = lifetime_to_end_in(session, seconds, now);
  TRY(parts_.sessions.set_lifetime(session.id, *changed.lifetime_seconds));
  if (const auto box = ground_.sandbox.find(session.id); box.ok()) {
    TRY(box.value()->set_lifetime(*lifetime_left_ms(changed, now), session.pauses_at_end));
  }
  return base::done();
}

void Sessions::connection_ended(const std::string& connection_id) {
  const std::vector<std::string> session_ids = parts_.connections.end(connection_id);
  if (!session_ids.empty()) (void)parts_.sessions.end_connection_of(session_ids);
  at_once(session_ids.size(), [&](std::size_t i) {
    // A box that cannot be told waits for the detach time of this server.
    if (const auto box = ground_.sandbox.look_at(session_ids[i]); box.ok()) {
      (void)box.value()->end_with_connection();
    }
    ground_.sandbox.let_go(session_ids[i]);
  });
}

}  // namespace sessions
