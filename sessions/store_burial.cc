// Deletes what a session leaves in the store, and gives the room back.
#include "sessions/run_record.h"
#include "sessions/store.h"

namespace sessions {

namespace {

// 4 MiB, in some 10 ms.
constexpr const char* kGiveBackSome = "PRAGMA incremental_vacuum(1000)";

}  // namespace

// Each step may be repeated: whoever dies in between leaves the session unburied, and the next
// sweep begins anew. What is deleted is overwritten with zeros (Database::open()).
base::Status Store::set_buried(const std::string& id) {
  TRY(erase_records(id));
  TRY(delete_file_rows(id));
  const std::lock_guard lock(mutex_);
  Transaction transaction = TRY(Transaction::begin(*database_));
  for (const char* sql : {"UPDATE sessions SET buried = 1, host_uid = NULL, env = '{}' "
                          "WHERE id = ? AND status = 'destroyed'",
                          "DELETE FROM files WHERE session_id IN (SELECT id FROM sessions WHERE id "
                          "= ? AND buried)",
                          "DELETE FROM network_grants WHERE session_id IN (SELECT id FROM sessions "
                          "WHERE id = ? AND buried)",
                          "DELETE FROM network_journals WHERE session_id IN (SELECT id FROM "
                          "sessions WHERE id = ? AND buried)"}) {
    Statement statement = TRY(database_->prepare(sql));
    TRY(statement.bind(id).run());
  }
  has_erased_ = true;
  return transaction.commit();
}

base::Status Store::erase_records(const std::string& session_id) {
  RunHead last;
  while (true) {
    std::vector<Run> runs;
    {
      const std::lock_guard lock(mutex_);
      runs = TRY(some_to_erase(session_id, last));
    }
    if (runs.empty()) return base::done();
    last = runs.back();
    // Runs that have ended do not change any more: no lock is needed while records are read.
    for (Run& run : runs) run.record = erased_record(run);
    const std::lock_guard lock(mutex_);
    Transaction transaction = TRY(Transaction::begin(*database_));
    for (const Run& run : runs) TRY(replace_record(run.id, *run.record));
    TRY(transaction.commit());
  }
}

base::Status Store::delete_file_rows(const std::string& session_id) {
  while (true) {
    const std::lock_guard lock(mutex_);
    Statement remove = TRY(database_->prepare(
        "DELETE FROM files WHERE id IN (SELECT files.id FROM sessions CROSS JOIN files ON "
        "files.session_id = sessions.id WHERE sessions.id = ? AND sessions.status = 'destroyed' "
        "LIMIT ?)"));
    TRY(remove.bind(session_id).bind(kRowsAtOnce).run());
    has_erased_ = true;
    if (database_->changed_rows() < kRowsAtOnce) return base::done();
  }
}

// The row moves to the end of its table: one that only became shorter would leave its page as it
// is, mostly empty and never free, so that the file would grow with every run there ever was.
base::Status Store::replace_record(const std::string& run_id, const std::string& record) {
  Statement update = TRY(
      database_->prepare("UPDATE runs SET record = ?2, rowid = (SELECT max(rowid) + 1 FROM runs) "
                         "WHERE id = ?1"));
  return update.bind(run_id).bind(record).run();
}

base::Status Store::forget_spare(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Transaction transaction = TRY(Transaction::begin(*database_));
  for (const char* sql :
       {"DELETE FROM audit WHERE session_id = ? AND principal_id = ?",
        "DELETE FROM sessions WHERE id = ? AND principal_id = ? AND status = 'destroyed'"}) {
    Statement statement = TRY(database_->prepare(sql));
    TRY(statement.bind(id).bind(std::string(kSparePrincipal)).run());
  }
  return transaction.commit();
}

base::Result<std::int64_t> Store::free_pages() {
  Statement select = TRY(database_->prepare("PRAGMA freelist_count"));
  TRY(select.step());
  return select.integer();
}

base::Result<bool> Store::shrink() {
  const std::lock_guard lock(mutex_);
  const std::int64_t before = TRY(free_pages());
  std::int64_t after = 0;
  if (before > 0) {
    TRY(database_->execute(kGiveBackSome));
    after = TRY(free_pages());
  }
  // A database that gives nothing back uses its free pages again.
  const bool has_shrunk = after < before;
  if (has_shrunk && after > 0) return true;
  if (has_shrunk || has_erased_) has_erased_ = !database_->empty_log();
  return false;
}

}  // namespace sessions
