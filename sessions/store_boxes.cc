// Sessions that have a box or may get one, and those that may give way, in the store.
#include "sessions/session_rows.h"
#include "sessions/store.h"

namespace sessions {

using base::Error;

namespace {

base::Result<std::int64_t> count_sessions(Database& database, const char* sql,
                                          const std::string& principal_id) {
  Statement statement = TRY(database.prepare(sql));
  TRY(statement.bind(principal_id).step());
  return statement.integer();
}

std::string so_many(std::int64_t count) {
  return count == 1 ? "there is 1 session" : "there are " + std::to_string(count) + " sessions";
}

}  // namespace

base::Status check_boxes(Database& database, const std::string& principal_id, std::int64_t most) {
  const std::int64_t boxes = TRY(count_sessions(
      database, "SELECT count(*) FROM sessions WHERE principal_id = ? AND " HAS_BOX, principal_id));
  if (boxes < most) return base::done();
  return base::error(Error::Kind::kLimit,
                     so_many(boxes) +
                         " already, the most allowed: delete_session one that is not needed; "
                         "max_sessions in [session] of the configuration allows more");
}

base::Status check_room(Database& database, const std::string& principal_id,
                        const Store::Bounds& bounds) {
  const std::int64_t kept = TRY(count_sessions(
      database, "SELECT count(*) FROM sessions WHERE principal_id = ? AND status <> 'destroyed'",
      principal_id));
  if (kept >= bounds.kept_max) {
    return base::error(Error::Kind::kLimit,
                       so_many(kept) +
                           " kept already, the most allowed: delete_session some that are not "
                           "needed; kept_sessions_max in [session] of the configuration allows "
                           "more");
  }
  return check_boxes(database, principal_id, bounds.sessions_max);
}

base::Result<bool> Store::claim_box(const Session& session, std::int64_t sessions_max,
                                    std::int64_t now) {
  const std::lock_guard lock(mutex_);
  Transaction transaction = TRY(Transaction::begin(*database_));
  {
    Statement select =
        TRY(database_->prepare("SELECT 1 FROM sessions WHERE id = ? AND NOT (" HAS_BOX ")"));
    if (!TRY(select.bind(session.id).step())) return false;
  }
  TRY(check_boxes(*database_, session.principal_id, sessions_max));
  {
    Statement update = TRY(database_->prepare(
        "UPDATE sessions SET status = 'provisioning', "
        "last_used_at = max(last_used_at, ?2) WHERE id = ?1 AND status <> 'destroyed'"));
    TRY(update.bind(session.id).bind(now).run());
  }
  TRY(transaction.commit());
  return true;
}

base::Status Store::unclaim_box(const Session& before) {
  const std::lock_guard lock(mutex_);
  Statement update = TRY(database_->prepare(
      "UPDATE sessions SET status = ?2 WHERE id = ?1 AND status = 'provisioning'"));
  return update.bind(before.id).bind(name_of(before.status)).run();
}

base::Result<std::int64_t> Store::count_kept_sessions(const std::string& principal_id) {
  const std::lock_guard lock(mutex_);
  return count_sessions(
      *database_, "SELECT count(*) FROM sessions WHERE principal_id = ? AND status <> 'destroyed'",
      principal_id);
}

base::Result<std::vector<Session>> Store::sessions_with_box(const std::string& principal_id) {
  const std::lock_guard lock(mutex_);
  Statement select = TRY(database_->prepare("SELECT " SESSION_COLUMNS
                                            " FROM sessions WHERE principal_id = ? AND " HAS_BOX
                                            " ORDER BY last_used_at, created_at, id"));
  select.bind(principal_id);
  return read_all_sessions(select);
}

base::Result<std::vector<Session>> Store::unnamed_sessions(const std::string& principal_id,
                                                           const SessionPlace& after,
                                                           std::int64_t limit) {
  const std::lock_guard lock(mutex_);
  Statement select =
      TRY(database_->prepare("SELECT " SESSION_COLUMNS
                             " FROM sessions WHERE principal_id = ? AND status <> 'destroyed' AND "
                             "(last_used_at, id) > (?, ?) AND name IS NULL AND metadata = '{}' "
                             "ORDER BY last_used_at, id LIMIT ?"));
  select.bind(principal_id).bind(after.last_used_at).bind(after.id).bind(limit);
  return read_all_sessions(select);
}

base::Result<std::vector<Session>> Store::oldest_sessions(const std::string& principal_id,
                                                          std::int64_t limit) {
  const std::lock_guard lock(mutex_);
  Statement select =
      TRY(database_->prepare("SELECT " SESSION_COLUMNS
                             " FROM sessions WHERE principal_id = ? AND status <> 'destroyed' "
                             "ORDER BY last_used_at LIMIT ?"));
  select.bind(principal_id).bind(limit);
  return read_all_sessions(select);
}

base::Status Store::end_connection_of(const std::vector<std::string>& ids) {
  const std::lock_guard lock(mutex_);
  Transaction transaction = TRY(Transaction::begin(*database_));
  for (const std::string& id : ids) {
    Statement update =
        TRY(database_->prepare("UPDATE sessions SET connection_server = NULL WHERE id = ?"));
    TRY(update.bind(id).run());
  }
  return transaction.commit();
}

base::Result<bool> Store::session_has_traces(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Statement select = TRY(database_->prepare(
      "SELECT EXISTS (SELECT 1 FROM runs WHERE session_id = ?1 AND was_read = 0) OR "
      "EXISTS (SELECT 1 FROM shares WHERE session_id = ?1) OR "
      "EXISTS (SELECT 1 FROM network_grants WHERE session_id = ?1)"));
  TRY(select.bind(id).step());
  return select.integer() != 0;
}

}  // namespace sessions
