// Deletes the past in small steps: others wait for the database meanwhile.
#include <algorithm>
#include <map>
#include <utility>

#include "sessions/session_rows.h"
#include "sessions/store.h"

namespace sessions {

namespace {

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
  select.bind(session_id).bind(Store::kNewestRunsKept - 1);
  std::optional<Place> place;
  if (!TRY(select.step())) return place;
  const std::int64_t queued_at = select.integer();
  place.emplace(queued_at, select.text());
  return place;
}

}  // namespace

base::Result<std::vector<Store::OldRun>> Store::old_runs(const OldRun& after, std::int64_t limit) {
  const std::lock_guard lock(mutex_);
  Statement select = TRY(database_->prepare(
      "SELECT runs.id, session_id, finished_at, queued_at, was_read, sessions.status = 'destroyed' "
      "FROM runs JOIN sessions ON sessions.id = session_id WHERE finished_at IS NOT NULL "
      "AND (finished_at, runs.id) > (?, ?) ORDER BY finished_at, runs.id LIMIT ?"));
  select.bind(after.finished_at).bind(after.id).bind(limit);
  std::vector<OldRun> runs;
  std::map<std::string, std::optional<Place>> kept;
  while (TRY(select.step())) {
    OldRun& run = runs.emplace_back();
    run.id = select.text();
    run.session_id = select.text();
    run.finished_at = select.integer();
    const std::int64_t queued_at = select.integer();
    const bool was_read = select.integer() != 0;
    const bool is_destroyed = select.integer() != 0;
    if (was_read && !is_destroyed && !kept.contains(run.session_id)) {
      auto oldest = TRY(oldest_kept(*database_, run.session_id));
      kept.emplace(run.session_id, std::move(oldest));
    }
    if (!was_read) continue;
    const auto found = kept.find(run.session_id);
    const bool is_kept =
        found != kept.end() && (!found->second || Place(queued_at, run.id) >= *found->second);
    run.may_go = is_destroyed || !is_kept;
  }
  return runs;
}

base::Status Store::delete_runs(const std::vector<std::string>& ids) {
  for (std::size_t first = 0; first < ids.size(); first += kRunsDeletedAtOnce) {
    const std::lock_guard lock(mutex_);
    Transaction transaction = TRY(Transaction::begin(*database_));
    for (std::size_t i = first; i < std::min(ids.size(), first + kRunsDeletedAtOnce); ++i) {
      for (const char* sql :
           {"DELETE FROM files WHERE run_id = ?", "DELETE FROM runs WHERE id = ?"}) {
        Statement remove = TRY(database_->prepare(sql));
        TRY(remove.bind(ids[i]).run());
      }
    }
    has_erased_ = true;
    TRY(transaction.commit());
  }
  return base::done();
}

base::Result<std::int64_t> Store::bytes_of_runs() {
  const std::lock_guard lock(mutex_);
  Statement select =
      TRY(database_->prepare("SELECT coalesce(sum(bytes + runs * ?), 0) FROM run_counts"));
  TRY(select.bind(kBytesOfARow).step());
  return select.integer();
}

base::Result<std::int64_t> Store::count_deleted() {
  const std::lock_guard lock(mutex_);
  Statement select =
      TRY(database_->prepare("SELECT sessions FROM session_counts WHERE status = 'destroyed'"));
  const bool is_there = TRY(select.step());
  return is_there ? select.integer() : 0;
}

base::Result<std::vector<Session>> Store::oldest_deleted(std::int64_t limit) {
  const std::lock_guard lock(mutex_);
  Statement select =
      TRY(database_->prepare("SELECT " SESSION_COLUMNS
                             " FROM sessions WHERE status = 'destroyed' AND buried = 1 "
                             "AND NOT EXISTS (SELECT 1 FROM shares WHERE session_id = sessions.id) "
                             "ORDER BY ended_at, id LIMIT ?"));
  select.bind(limit);
  return read_all_sessions(select);
}

base::Result<bool> Store::forget_some_of(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Transaction transaction = TRY(Transaction::begin(*database_));
  for (const char* sql :
       {"DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE session_id = ? LIMIT ?)",
        "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE session_id = ? LIMIT ?)",
        "DELETE FROM network_grants WHERE (session_id, rule) IN (SELECT session_id, rule FROM "
        "network_grants WHERE session_id = ? LIMIT ?)"}) {
    Statement remove = TRY(database_->prepare(sql));
    TRY(remove.bind(id).bind(kForgottenAtOnce).run());
    if (database_->changed_rows() < kForgottenAtOnce) continue;
    TRY(transaction.commit());
    return false;
  }
  {
    Statement remove = TRY(database_->prepare(
        "DELETE FROM sessions WHERE id = ? AND status = 'destroyed' AND buried = 1"));
    TRY(remove.bind(id).run());
  }
  TRY(transaction.commit());
  return true;
}

}  // namespace sessions
