#include "sessions/session_table.h"

#include <mutex>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "sessions/audit_table.h"
#include "sessions/session_rows.h"
#include "sessions/sqlite.h"
#include "sessions/store_file.h"

namespace sessions {

using base::Error;
using nlohmann::json;

namespace {

constexpr std::int64_t kReadOnMs = 3'600'000;

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
      .bind(isolation_text(session.isolation))
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

}  // namespace

base::Result<std::int64_t> SessionTable::unused_host_uid(const HostUidRange& range) {
  // The lowest number that no session holds: either the first, or one after a held one. The walk
  // is of the index alone, and ends there.
  Statement select = TRY(file_.database->prepare(
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

base::Result<Session> SessionTable::create(Session session, const std::optional<HostUidRange>& ids,
                                           const SessionBounds& bounds) {
  const std::lock_guard lock(file_.mutex);
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  TRY(check_room(*file_.database, session.principal_id, bounds));
  if (ids) session.host_uid = TRY(unused_host_uid(*ids));
  if (auto status = insert(*file_.database, session); !status.ok()) {
    return why_refused(std::move(status).error(), session);
  }
  TRY(write_audit(*file_.database,
                  {session.created_at, session.principal_id, session.id, "create_session"}));
  TRY(transaction.commit());
  return session;
}

base::Result<Session> SessionTable::find(const std::string& principal_id,
                                         const std::string& id_or_name) {
  const std::lock_guard lock(file_.mutex);
  Statement select =
      TRY(file_.database->prepare("SELECT " SESSION_COLUMNS
                                  " FROM sessions WHERE principal_id = ?1 AND "
                                  "(id = ?2 OR (name = ?2 AND status <> 'destroyed')) LIMIT 1"));
  select.bind(principal_id).bind(id_or_name);
  if (!TRY(select.step())) {
    return base::error(Error::Kind::kNotFound,
                       "no such session; list_sessions shows yours, create_session makes one");
  }
  return read_session(select);
}

base::Result<Session> SessionTable::find_of_any(const std::string& id) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare(
      "SELECT " SESSION_COLUMNS " FROM sessions WHERE id = ? AND status <> 'destroyed'"));
  select.bind(id);
  if (!TRY(select.step())) return base::error(Error::Kind::kNotFound, "no such session");
  return read_session(select);
}

base::Result<bool> SessionTable::is_live(const std::string& id) {
  const std::lock_guard lock(file_.mutex);
  Statement select =
      TRY(file_.database->prepare("SELECT 1 FROM sessions WHERE id = ? AND status <> 'destroyed'"));
  return select.bind(id).step();
}

base::Result<bool> SessionTable::is_on_record(const std::string& id) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare("SELECT 1 FROM sessions WHERE id = ?"));
  return select.bind(id).step();
}

base::Result<bool> SessionTable::has_traces(const std::string& id, std::int64_t now) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare(
      "SELECT EXISTS (SELECT 1 FROM runs INDEXED BY runs_unfinished WHERE session_id = ?1 AND "
      "status IN ('queued', 'running')) OR EXISTS (SELECT 1 FROM runs INDEXED BY runs_unread "
      "WHERE session_id = ?1 AND was_read = 0 AND finished_at IS NOT NULL) OR "
      "EXISTS (SELECT 1 FROM runs WHERE session_id = ?1 AND was_read > 1 AND was_read > ?2) OR "
      "EXISTS (SELECT 1 FROM shares WHERE session_id = ?1) OR "
      "EXISTS (SELECT 1 FROM network_grants WHERE session_id = ?1)"));
  TRY(select.bind(id).bind(now - kReadOnMs).step());
  return select.integer() != 0;
}

base::Result<bool> SessionTable::set_status(const std::string& id, SessionStatus status,
                                            const std::string& why) {
  const std::lock_guard lock(file_.mutex);
  const std::int64_t now = base::now_ms();
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  {
    Statement update = TRY(file_.database->prepare(
        "UPDATE sessions SET status = ?2, ended_at = CASE WHEN ?2 = 'destroyed' THEN ?3 END, "
        "error = CASE WHEN ?2 = 'error' THEN ?4 END "
        "WHERE id = ?1 AND status <> 'destroyed' AND status <> ?2"));
    TRY(update.bind(id).bind(name_of(status)).bind(now).bind(why).run());
  }
  if (file_.database->changed_rows() == 0) return false;
  std::string principal;
  std::optional<std::string> name;
  {
    Statement select =
        TRY(file_.database->prepare("SELECT principal_id, name FROM sessions WHERE id = ?"));
    TRY(select.bind(id).step());
    principal = select.text();
    name = select.optional_text();
  }
  json detail = json::object();
  if (!why.empty()) detail["reason"] = why;
  TRY(write_audit(*file_.database, {now, principal, id, std::string("session_") + name_of(status),
                                    std::move(detail)}));
  TRY(transaction.commit());
  if (status == SessionStatus::kDestroyed) {
    file_.tell({Notice::Level::kInfo,
                "session " + (name ? "\"" + *name + "\" " : "") + "deleted" +
                    (why.empty() ? "" : ": " + why),
                principal, id});
  }
  return true;
}

base::Status SessionTable::set_isolation(const std::string& id,
                                         const sandbox::Isolation& isolation) {
  const std::lock_guard lock(file_.mutex);
  Statement update =
      TRY(file_.database->prepare("UPDATE sessions SET isolation = ?2 WHERE id = ?1"));
  return update.bind(id).bind(isolation_text(isolation)).run();
}

base::Status SessionTable::set_lifetime(const std::string& id, std::int64_t seconds) {
  const std::lock_guard lock(file_.mutex);
  Statement update =
      TRY(file_.database->prepare("UPDATE sessions SET lifetime_seconds = ?2 "
                                  "WHERE id = ?1 AND status <> 'destroyed'"));
  return update.bind(id).bind(seconds).run();
}

base::Status SessionTable::set_network(const std::string& id,
                                       const std::optional<NetworkChoice>& network) {
  const std::lock_guard lock(file_.mutex);
  Statement update =
      TRY(file_.database->prepare("UPDATE sessions SET network = ?2 "
                                  "WHERE id = ?1 AND status <> 'destroyed'"));
  return update.bind(id).bind(network_text(network)).run();
}

base::Status SessionTable::touch(const std::string& id, std::int64_t now) {
  const std::lock_guard lock(file_.mutex);
  Statement update = TRY(file_.database->prepare(
      "UPDATE sessions SET last_used_at = max(last_used_at, ?2) WHERE id = ?1"));
  return update.bind(id).bind(now).run();
}

base::Status SessionTable::end_connection_of(const std::vector<std::string>& ids) {
  const std::lock_guard lock(file_.mutex);
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  for (const std::string& id : ids) {
    Statement update =
        TRY(file_.database->prepare("UPDATE sessions SET connection_server = NULL WHERE id = ?"));
    TRY(update.bind(id).run());
  }
  return transaction.commit();
}

base::Result<bool> SessionTable::claim_box(const Session& session, std::int64_t sessions_max,
                                           std::int64_t now) {
  const std::lock_guard lock(file_.mutex);
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  {
    Statement select = TRY(file_.database->prepare(
        "SELECT 1 FROM sessions WHERE id = ? AND NOT (" HAS_BOX ") AND status <> 'destroyed'"));
    if (!TRY(select.bind(session.id).step())) return false;
  }
  TRY(check_boxes(*file_.database, session.principal_id, sessions_max));
  {
    Statement update =
        TRY(file_.database->prepare("UPDATE sessions SET status = 'provisioning', "
                                    "last_used_at = max(last_used_at, ?2) WHERE id = ?1"));
    TRY(update.bind(session.id).bind(now).run());
  }
  TRY(transaction.commit());
  return true;
}

base::Status SessionTable::unclaim_box(const Session& before) {
  const std::lock_guard lock(file_.mutex);
  Statement update = TRY(file_.database->prepare(
      "UPDATE sessions SET status = ?2 WHERE id = ?1 AND status = 'provisioning'"));
  return update.bind(before.id).bind(name_of(before.status)).run();
}

base::Result<std::size_t> SessionTable::renew_host_uids(
    const HostUidRange& range, const std::function<bool(const std::string& session_id)>& may) {
  const std::lock_guard lock(file_.mutex);
  const auto read_strangers = [&]() -> base::Result<std::vector<std::string>> {
    Statement select = TRY(file_.database->prepare(
        "SELECT id FROM sessions WHERE status <> 'destroyed' AND (host_uid IS NULL OR host_uid < "
        "?1 OR host_uid >= ?2) ORDER BY created_at, id"));
    select.bind(range.first).bind(range.first + range.count);
    std::vector<std::string> ids;
    while (TRY(select.step())) ids.push_back(select.text());
    return ids;
  };
  // Nearly every start: it writes nothing, and waits for nobody.
  if (TRY(read_strangers()).empty()) return std::size_t{0};
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  std::set<std::int64_t> held;
  {
    Statement select =
        TRY(file_.database->prepare("SELECT host_uid FROM sessions WHERE host_uid IS NOT NULL"));
    while (TRY(select.step())) held.insert(select.integer());
  }
  std::size_t renewed = 0;
  std::int64_t next = range.first;
  for (const std::string& id : TRY(read_strangers())) {
    if (!may(id)) continue;
    while (held.contains(next)) ++next;
    if (!range.has(next)) {
      return base::error(base::Error::Kind::kLimit,
                         "no free user id for a session of this copied state directory");
    }
    Statement update =
        TRY(file_.database->prepare("UPDATE sessions SET host_uid = ?2 WHERE id = ?1"));
    TRY(update.bind(id).bind(next++).run());
    ++renewed;
  }
  TRY(transaction.commit());
  return renewed;
}

}  // namespace sessions
