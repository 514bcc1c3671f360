#include "sessions/past_table.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "sessions/file_table.h"
#include "sessions/run_table.h"
#include "sessions/session_rows.h"
#include "sessions/sqlite.h"
#include "sessions/store_file.h"

namespace sessions {

namespace {

// 4 MiB, in some 10 ms.
constexpr const char* kGiveBackSome = "PRAGMA incremental_vacuum(1000)";

#define OLD_RUN_COLUMNS \
  "runs.id, session_id, finished_at, queued_at, was_read, sessions.status = 'destroyed'"

// A run without its record takes so much: its row, and the indexes that find it.
constexpr std::int64_t kBytesOfARow = 600;
constexpr std::int64_t kForgottenAtOnce = 100;
// A record has up to 2 MB, and what is deleted is overwritten.
constexpr std::size_t kRunsDeletedAtOnce = 8;

using Place = std::pair<std::int64_t, std::string>;  // by when it was queued, and its id

// The oldest of those that stay; nothing: there are no more than these.
base::Result<std::optional<Place>> oldest_kept(Database& database, const std::string& session_id) {
  Statement select = TRY(database.prepare(
      "SELECT queued_at, id FROM runs WHERE session_id = ? ORDER BY queued_at DESC, id DESC "
      "LIMIT 1 OFFSET ?"));
  select.bind(session_id).bind(PastTable::kNewestRunsKept - 1);
  std::optional<Place> place;
  if (!TRY(select.step())) return place;
  const std::int64_t queued_at = select.integer();
  place.emplace(queued_at, select.text());
  return place;
}

}  // namespace

// Each step may be repeated: whoever dies in between leaves the session unburied, and the next
// sweep begins anew. What is deleted is overwritten with zeros (Database::open()).
base::Status PastTable::set_buried(const std::string& id) {
  TRY(runs_.erase_records(id));
  TRY(files_.remove_of(id));
  const std::lock_guard lock(file_.mutex);
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  for (const char* sql : {"UPDATE sessions SET buried = 1, host_uid = NULL, env = '{}' "
                          "WHERE id = ? AND status = 'destroyed'",
                          "DELETE FROM files WHERE session_id IN (SELECT id FROM sessions WHERE id "
                          "= ? AND buried)",
                          "DELETE FROM network_grants WHERE session_id IN (SELECT id FROM sessions "
                          "WHERE id = ? AND buried)",
                          "DELETE FROM network_journals WHERE session_id IN (SELECT id FROM "
                          "sessions WHERE id = ? AND buried)"}) {
    Statement statement = TRY(file_.database->prepare(sql));
    TRY(statement.bind(id).run());
  }
  file_.has_erased = true;
  return transaction.commit();
}

base::Result<std::vector<OldRun>> PastTable::old_runs(const OldRun& after, std::int64_t limit,
                                                      std::int64_t ended_before) {
  const std::lock_guard lock(file_.mutex);
  Statement select =
      TRY(file_.database->prepare(
          "SELECT " OLD_RUN_COLUMNS ", 0 "
          "FROM runs JOIN sessions ON sessions.id = session_id WHERE finished_at IS NOT NULL "
          "AND (finished_at, runs.id) > (?, ?) AND finished_at < ? "
          "ORDER BY finished_at, runs.id LIMIT ?"));
  select.bind(after.finished_at).bind(after.id).bind(ended_before).bind(limit);
  return read_old_runs(select, std::numeric_limits<std::int64_t>::max());
}

base::Result<std::vector<OldRun>> PastTable::old_runs_of(const std::string& principal_id,
                                                         const OldRun& after, std::int64_t limit,
                                                         std::int64_t bytes_most) {
  const std::lock_guard lock(file_.mutex);
  Statement select =
      TRY(file_.database->prepare(
          "SELECT " OLD_RUN_COLUMNS ", coalesce(length(CAST(record AS BLOB)), 0) "
          "FROM runs INDEXED BY runs_by_principal CROSS JOIN sessions ON "
          "sessions.id = session_id WHERE runs.principal_id = ? AND finished_at IS NOT NULL AND "
          "(queued_at, runs.id) > (?, ?) ORDER BY queued_at, runs.id LIMIT ?"));
  select.bind(principal_id).bind(after.queued_at).bind(after.id).bind(limit);
  return read_old_runs(select, bytes_most);
}

base::Result<std::vector<OldRun>> PastTable::read_old_runs(Statement& select,
                                                           std::int64_t bytes_most) {
  std::vector<OldRun> runs;
  std::map<std::string, std::optional<Place>> kept;
  while (TRY(select.step())) {
    OldRun& run = runs.emplace_back();
    run.id = select.text();
    run.session_id = select.text();
    run.finished_at = select.integer();
    run.queued_at = select.integer();
    const bool was_read = select.integer() != 0;
    const bool is_destroyed = select.integer() != 0;
    run.bytes = select.integer() + kBytesOfARow;
    if (was_read && !is_destroyed && !kept.contains(run.session_id)) {
      auto oldest = TRY(oldest_kept(*file_.database, run.session_id));
      kept.emplace(run.session_id, std::move(oldest));
    }
    if (!was_read) continue;
    const auto found = kept.find(run.session_id);
    const bool is_kept =
        found != kept.end() && (!found->second || Place(run.queued_at, run.id) >= *found->second);
    run.may_go = is_destroyed || !is_kept;
    if (run.may_go && (bytes_most -= run.bytes) <= 0) break;
  }
  return runs;
}

base::Status PastTable::delete_runs(const std::vector<std::string>& ids) {
  for (std::size_t first = 0; first < ids.size(); first += kRunsDeletedAtOnce) {
    const std::lock_guard lock(file_.mutex);
    Transaction transaction = TRY(Transaction::begin(*file_.database));
    for (std::size_t i = first; i < std::min(ids.size(), first + kRunsDeletedAtOnce); ++i) {
      for (const char* sql :
           {"DELETE FROM files WHERE run_id = ?", "DELETE FROM runs WHERE id = ?"}) {
        Statement remove = TRY(file_.database->prepare(sql));
        TRY(remove.bind(ids[i]).run());
      }
    }
    file_.has_erased = true;
    TRY(transaction.commit());
  }
  return base::done();
}

base::Result<std::int64_t> PastTable::bytes_of_runs() {
  const std::lock_guard lock(file_.mutex);
  Statement select =
      TRY(file_.database->prepare("SELECT coalesce(sum(bytes + runs * ?), 0) FROM run_counts"));
  TRY(select.bind(kBytesOfARow).step());
  return select.integer();
}

base::Result<std::vector<PastTable::Share>> PastTable::read_shares(Statement& select) {
  std::vector<Share> shares;
  while (TRY(select.step())) {
    Share& share = shares.emplace_back();
    share.principal_id = select.text();
    share.number = select.integer();
    share.bytes = select.integer();
  }
  return shares;
}

base::Result<std::vector<PastTable::Share>> PastTable::runs_of_principals() {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare(
      "SELECT principal_id, sum(runs), sum(bytes + runs * ?) FROM run_counts GROUP BY principal_id "
      "HAVING sum(runs) > 0 ORDER BY 3 DESC, 1"));
  select.bind(kBytesOfARow);
  return read_shares(select);
}

base::Result<std::vector<PastTable::Share>> PastTable::deleted_of_principals() {
  const std::lock_guard lock(file_.mutex);
  Statement select =
      TRY(file_.database->prepare("SELECT principal_id, sessions, 0 FROM session_counts WHERE "
                                  "status = 'destroyed' AND sessions > "
                                  "0 ORDER BY 2 DESC, 1"));
  return read_shares(select);
}

base::Result<std::int64_t> PastTable::count_deleted() {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare(
      "SELECT coalesce(sum(sessions), 0) FROM session_counts WHERE status = 'destroyed'"));
  TRY(select.step());
  return select.integer();
}

// Each of them has an index in the very words of its condition.
base::Result<bool> PastTable::has_any() {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare(
      "SELECT EXISTS (SELECT 1 FROM shares WHERE expires_at IS NOT NULL) OR "
      "EXISTS (SELECT 1 FROM runs WHERE finished_at IS NOT NULL) OR "
      "EXISTS (SELECT 1 FROM sessions WHERE status = 'destroyed' AND buried = 1)"));
  TRY(select.step());
  return select.integer() != 0;
}

base::Result<std::vector<Session>> PastTable::oldest_deleted(std::int64_t limit) {
  const std::lock_guard lock(file_.mutex);
  Statement select =
      TRY(file_.database->prepare(
          "SELECT " SESSION_COLUMNS " FROM sessions WHERE status = 'destroyed' AND buried = 1 "
          "AND NOT EXISTS (SELECT 1 FROM shares WHERE session_id = sessions.id) "
          "ORDER BY ended_at, id LIMIT ?"));
  select.bind(limit);
  return read_all_sessions(select);
}

base::Result<std::vector<Session>> PastTable::oldest_deleted_of(const std::string& principal_id,
                                                                std::int64_t limit) {
  const std::lock_guard lock(file_.mutex);
  Statement select =
      TRY(file_.database->prepare(
          "SELECT " SESSION_COLUMNS " FROM sessions INDEXED BY sessions_by_end_of WHERE "
          "principal_id = ? AND status = 'destroyed' AND buried = 1 AND NOT EXISTS (SELECT 1 FROM "
          "shares WHERE session_id = sessions.id) ORDER BY ended_at, id LIMIT ?"));
  select.bind(principal_id).bind(limit);
  return read_all_sessions(select);
}

base::Result<bool> PastTable::forget_some_of(const std::string& id) {
  const std::lock_guard lock(file_.mutex);
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  for (const char* sql :
       {"DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE session_id = ? LIMIT ?)",
        "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE session_id = ? LIMIT ?)",
        "DELETE FROM network_grants WHERE (session_id, rule) IN (SELECT session_id, rule FROM "
        "network_grants WHERE session_id = ? LIMIT ?)"}) {
    Statement remove = TRY(file_.database->prepare(sql));
    TRY(remove.bind(id).bind(kForgottenAtOnce).run());
    if (file_.database->changed_rows() < kForgottenAtOnce) continue;
    TRY(transaction.commit());
    return false;
  }
  {
    Statement remove = TRY(file_.database->prepare(
        "DELETE FROM sessions WHERE id = ? AND status = 'destroyed' AND buried = 1"));
    TRY(remove.bind(id).run());
  }
  TRY(transaction.commit());
  return true;
}

base::Result<std::int64_t> PastTable::free_pages() {
  Statement select = TRY(file_.database->prepare("PRAGMA freelist_count"));
  TRY(select.step());
  return select.integer();
}

base::Result<bool> PastTable::shrink() {
  const std::lock_guard lock(file_.mutex);
  const std::int64_t before = TRY(free_pages());
  std::int64_t after = 0;
  if (before > 0) {
    TRY(file_.database->execute(kGiveBackSome));
    after = TRY(free_pages());
  }
  // A database that gives nothing back uses its free pages again.
  const bool has_shrunk = after < before;
  if (has_shrunk && after > 0) return true;
  if (has_shrunk || file_.has_erased) file_.has_erased = !file_.database->empty_log();
  return false;
}

}  // namespace sessions
