// Sessions in the store.
#include <iterator>
#include <limits>

#include <nlohmann/json.hpp>

#include "sandbox/base/clock.h"
#include "sandbox/base/random_id.h"
#include "sandbox/wire/json.h"
#include "sessions/session_rows.h"
#include "sessions/store.h"

namespace sessions {

using base::Error;
using nlohmann::json;

namespace {

base::Status insert(Database& database, const Session& session) {
  Statement statement = TRY(database.prepare(
      "INSERT INTO sessions (" SESSION_COLUMNS
      ") "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, ?, ?)"));
  statement.bind(session.id)
      .bind(session.principal_id)
      .bind(session.name)
      .bind(session.template_name)
      .bind(name_of(session.status))
      .bind(session.ends_with_connection)
      .bind(limits_text(session))
      .bind(strings_text(session.env))
      .bind(session.isolation)
      .bind(session.host_uid)
      .bind(session.lifetime_seconds)
      .bind(session.idle_seconds)
      .bind(session.retention_seconds)
      .bind(session.created_at)
      .bind(session.last_used_at)
      .bind(session.ended_at)
      .bind(session.error)
      .bind(folders_text(session))
      .bind(session.unasked)
      .bind(network_text(session.network))
      .bind(paths_text(session))
      .bind(strings_text(session.metadata))
      .bind(session.boot_id)
      .bind(session.boot_offset_ms)
      .bind(session.connection_server)
      .bind(session.working_directory)
      .bind(session.public_ports)
      .bind(session.wakes_by_port)
      .bind(session.pauses_at_end)
      .bind(session.port_host);
  return statement.run();
}

// Returns what the principal hears when the row was refused.
Error why_refused(Error refusal, const Session& session) {
  if (refusal.kind != Error::Kind::kConflict || !session.name) return refusal;
  return base::error(Error::Kind::kConflict,
                     "there is a session named \"" + *session.name +
                         "\" already: use its name as session_id, or choose another name");
}

}  // namespace

base::Result<std::int64_t> Store::free_host_uid(const HostUidRange& range) {
  // The lowest number that no session holds: either the first, or one after a held one. The walk
  // is of the index alone, and ends there.
  Statement select = TRY(database_->prepare(
      "SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM sessions WHERE host_uid = ?1) THEN ?1 ELSE "
      "(SELECT host_uid + 1 FROM sessions AS held WHERE host_uid >= ?1 AND NOT EXISTS "
      "(SELECT 1 FROM sessions WHERE host_uid = held.host_uid + 1) ORDER BY host_uid LIMIT 1) "
      "END"));
  TRY(select.bind(range.first).step());
  const std::int64_t uid = select.integer();
  if (uid >= range.first + range.count) {
    return base::error(Error::Kind::kLimit, "no free user id for another session: delete some");
  }
  return uid;
}

base::Result<Session> Store::create_session(Session session, const std::optional<HostUidRange>& ids,
                                            const Bounds& bounds) {
  const std::lock_guard lock(mutex_);
  Transaction transaction = TRY(Transaction::begin(*database_));
  TRY(check_room(*database_, session.principal_id, bounds));
  if (ids) session.host_uid = TRY(free_host_uid(*ids));
  if (auto status = insert(*database_, session); !status.ok()) {
    return why_refused(std::move(status).error(), session);
  }
  TRY(write_audit({session.created_at, session.principal_id, session.id, "create_session", "{}"}));
  TRY(transaction.commit());
  return session;
}

base::Status Store::ensure_spare_principal() {
  const std::lock_guard lock(mutex_);
  // Principals are found by their names: one that cannot be guessed is nobody's.
  Statement insert =
      TRY(database_->prepare("INSERT INTO principals (id, name, created_at) VALUES (?, ?, ?) ON "
                             "CONFLICT (id) DO NOTHING"));
  return insert.bind(std::string(kSparePrincipal))
      .bind(base::random_id("spare_"))
      .bind(base::now_ms())
      .run();
}

base::Result<bool> Store::withdraw_spare(const std::string& spare_id, const std::string& why) {
  const std::lock_guard lock(mutex_);
  Statement update =
      TRY(database_->prepare("UPDATE sessions SET status = 'destroyed', ended_at = ?3, error = ?4 "
                             "WHERE id = ?1 AND principal_id = ?2 AND status <> 'destroyed'"));
  update.bind(spare_id).bind(std::string(kSparePrincipal)).bind(base::now_ms()).bind(why);
  TRY(update.run());
  return database_->changed_rows() > 0;
}

base::Result<Session> Store::adopt_session(const std::string& spare_id, const Session& wanted,
                                           const Bounds& bounds) {
  const std::lock_guard lock(mutex_);
  Transaction transaction = TRY(Transaction::begin(*database_));
  TRY(check_room(*database_, wanted.principal_id, bounds));
  {
    Statement update = TRY(database_->prepare(
        "UPDATE sessions SET principal_id = ?2, name = ?3, ends_with_connection = ?4, "
        "created_at = ?5, last_used_at = ?5, unasked = ?7, lifetime_seconds = ?8, metadata = ?9, "
        "boot_id = ?10, boot_offset_ms = ?11, connection_server = ?12, working_directory = ?13, "
        "public_ports = ?14, wakes_by_port = ?15, pauses_at_end = ?16, "
        "port_host = ?17 "
        "WHERE id = ?1 AND principal_id = ?6 AND status NOT IN ('destroyed', 'error')"));
    update.bind(spare_id)
        .bind(wanted.principal_id)
        .bind(wanted.name)
        .bind(wanted.ends_with_connection)
        .bind(wanted.created_at)
        .bind(std::string(kSparePrincipal))
        .bind(wanted.unasked)
        .bind(wanted.lifetime_seconds)
        .bind(strings_text(wanted.metadata))
        .bind(wanted.boot_id)
        .bind(wanted.boot_offset_ms)
        .bind(wanted.connection_server)
        .bind(wanted.working_directory)
        .bind(wanted.public_ports)
        .bind(wanted.wakes_by_port)
        .bind(wanted.pauses_at_end)
        .bind(wanted.port_host);
    if (auto status = update.run(); !status.ok()) {
      return why_refused(std::move(status).error(), wanted);
    }
  }
  if (database_->changed_rows() == 0) {
    return base::error(Error::Kind::kNotFound, "this spare session is gone");
  }
  TRY(write_audit({wanted.created_at, wanted.principal_id, spare_id, "create_session", "{}"}));
  Statement select =
      TRY(database_->prepare("SELECT " SESSION_COLUMNS " FROM sessions WHERE id = ?"));
  TRY(select.bind(spare_id).step());
  Session adopted = read_session(select);
  TRY(transaction.commit());
  return adopted;
}

base::Result<Session> Store::find_session(const std::string& principal_id,
                                          const std::string& id_or_name) {
  const std::lock_guard lock(mutex_);
  Statement select =
      TRY(database_->prepare("SELECT " SESSION_COLUMNS " FROM sessions WHERE principal_id = ?1 AND "
                             "(id = ?2 OR (name = ?2 AND status <> 'destroyed')) LIMIT 1"));
  select.bind(principal_id).bind(id_or_name);
  if (!TRY(select.step())) {
    return base::error(Error::Kind::kNotFound,
                       "no such session; list_sessions shows yours, create_session makes one");
  }
  return read_session(select);
}

base::Result<Session> Store::session_of_any(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Statement select = TRY(database_->prepare(
      "SELECT " SESSION_COLUMNS " FROM sessions WHERE id = ? AND status <> 'destroyed'"));
  select.bind(id);
  if (!TRY(select.step())) return base::error(Error::Kind::kNotFound, "no such session");
  return read_session(select);
}

base::Result<std::vector<Session>> Store::newest_sessions(const std::string& principal_id,
                                                          bool destroyed, std::int64_t limit) {
  const std::lock_guard lock(mutex_);
  const char* newest = destroyed ? "SELECT " SESSION_COLUMNS
                                   " FROM sessions WHERE principal_id = ? AND status = 'destroyed'"
                                   " ORDER BY last_used_at DESC, created_at DESC, id LIMIT ?"
                                 : "SELECT " SESSION_COLUMNS
                                   " FROM sessions WHERE principal_id = ? AND status <> 'destroyed'"
                                   " ORDER BY last_used_at DESC, created_at DESC, id LIMIT ?";
  Statement select = TRY(database_->prepare(newest));
  select.bind(principal_id).bind(limit);
  return read_all_sessions(select);
}

base::Result<std::vector<std::string>> Store::newest_used_sessions(std::int64_t limit) {
  const std::lock_guard lock(mutex_);
  Statement select = TRY(database_->prepare(
      "SELECT id FROM sessions WHERE status <> 'destroyed' AND principal_id <> ? "
      "ORDER BY last_used_at DESC LIMIT ?"));
  select.bind(std::string(kSparePrincipal)).bind(limit);
  std::vector<std::string> ids;
  while (TRY(select.step())) ids.push_back(select.text());
  return ids;
}

base::Result<std::vector<Session>> Store::unasked_sessions(const std::string& principal_id) {
  const std::lock_guard lock(mutex_);
  Statement select = TRY(database_->prepare(
      "SELECT " SESSION_COLUMNS
      " FROM sessions WHERE principal_id = ? AND unasked = 1 AND status <> 'destroyed' "
      "AND status <> 'stopped' ORDER BY last_used_at, created_at, id"));
  select.bind(principal_id);
  return read_all_sessions(select);
}

base::Result<std::vector<Session>> Store::all_in_turns(const char* sql) {
  std::vector<Session> all;
  while (true) {
    const std::lock_guard lock(mutex_);
    Statement select = TRY(database_->prepare(sql));
    select.bind(all.empty() ? std::numeric_limits<std::int64_t>::min() : all.back().created_at)
        .bind(all.empty() ? "" : all.back().id)
        .bind(kRowsAtOnce);
    auto some = TRY(read_all_sessions(select));
    all.insert(all.end(), std::make_move_iterator(some.begin()),
               std::make_move_iterator(some.end()));
    if (some.size() < static_cast<std::size_t>(kRowsAtOnce)) return all;
  }
}

base::Result<std::vector<Session>> Store::live_sessions() {
  return all_in_turns("SELECT " SESSION_COLUMNS
                      " FROM sessions WHERE status <> 'destroyed' AND (created_at, id) > (?, ?) "
                      "ORDER BY created_at, id LIMIT ?");
}

base::Result<std::vector<Session>> Store::unburied_sessions() {
  return all_in_turns("SELECT " SESSION_COLUMNS
                      " FROM sessions WHERE status = 'destroyed' AND buried = 0 AND "
                      "(created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?");
}

base::Result<bool> Store::session_is_live(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Statement select =
      TRY(database_->prepare("SELECT 1 FROM sessions WHERE id = ? AND status <> 'destroyed'"));
  return select.bind(id).step();
}

base::Result<bool> Store::set_session_status(const std::string& id, SessionStatus status,
                                             const std::string& why) {
  const std::lock_guard lock(mutex_);
  const std::int64_t now = base::now_ms();
  Transaction transaction = TRY(Transaction::begin(*database_));
  {
    Statement update = TRY(database_->prepare(
        "UPDATE sessions SET status = ?2, ended_at = CASE WHEN ?2 = 'destroyed' THEN ?3 END, "
        "error = CASE WHEN ?2 = 'error' THEN ?4 END "
        "WHERE id = ?1 AND status <> 'destroyed' AND status <> ?2"));
    TRY(update.bind(id).bind(name_of(status)).bind(now).bind(why).run());
  }
  if (database_->changed_rows() == 0) return false;
  std::string principal;
  std::optional<std::string> name;
  {
    Statement select =
        TRY(database_->prepare("SELECT principal_id, name FROM sessions WHERE id = ?"));
    TRY(select.bind(id).step());
    principal = select.text();
    name = select.optional_text();
  }
  TRY(write_audit({now, principal, id, std::string("session_") + name_of(status),
                   why.empty() ? "{}" : sandbox::wire::print_json(json{{"reason", why}})}));
  TRY(transaction.commit());
  if (status == SessionStatus::kDestroyed) {
    tell({Notice::Level::kInfo,
          "session " + (name ? "\"" + *name + "\" " : "") + "deleted" +
              (why.empty() ? "" : ": " + why),
          principal, id});
  }
  return true;
}

base::Status Store::set_isolation(const std::string& id, const std::string& isolation) {
  const std::lock_guard lock(mutex_);
  Statement update = TRY(database_->prepare("UPDATE sessions SET isolation = ?2 WHERE id = ?1"));
  return update.bind(id).bind(isolation).run();
}

base::Status Store::set_lifetime(const std::string& id, std::int64_t seconds) {
  const std::lock_guard lock(mutex_);
  Statement update =
      TRY(database_->prepare("UPDATE sessions SET lifetime_seconds = ?2 "
                             "WHERE id = ?1 AND status <> 'destroyed'"));
  return update.bind(id).bind(seconds).run();
}

base::Status Store::set_network(const std::string& id,
                                const std::optional<NetworkChoice>& network) {
  const std::lock_guard lock(mutex_);
  Statement update =
      TRY(database_->prepare("UPDATE sessions SET network = ?2 "
                             "WHERE id = ?1 AND status <> 'destroyed'"));
  return update.bind(id).bind(network_text(network)).run();
}

base::Status Store::touch_session(const std::string& id, std::int64_t now) {
  const std::lock_guard lock(mutex_);
  Statement update = TRY(
      database_->prepare("UPDATE sessions SET last_used_at = max(last_used_at, ?2) WHERE id = ?1"));
  return update.bind(id).bind(now).run();
}

}  // namespace sessions
