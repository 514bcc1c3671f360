// Runs in the store.
#include <limits>

#include "sessions/run_record.h"
#include "sessions/store.h"

namespace sessions {

using base::Error;

namespace {

// Runs whose records are made short in one transaction: a record has up to 2 MB, and others wait.
constexpr std::int64_t kErasedAtOnce = 8;

// A record may be large: where it is not needed, it is not read.
#define HEAD_COLUMNS                                                                          \
  "runs.id, runs.session_id, runs.language, runs.status, runs.background, runs.code_sha256, " \
  "runs.server_id, runs.queued_at, runs.finished_at, runs.was_read"
#define RUN_COLUMNS HEAD_COLUMNS ", runs.record"

RunHead read_head(Statement& row) {
  RunHead run;
  run.id = row.text();
  run.session_id = row.text();
  run.language = row.text();
  run.status = row.text();
  run.background = row.integer() != 0;
  run.code_sha256 = row.text();
  run.server_id = row.text();
  run.queued_at = row.integer();
  run.finished_at = row.optional_integer();
  run.was_read = row.integer() != 0;
  return run;
}

Run read_run(Statement& row) {
  Run run{read_head(row), {}};
  run.record = row.optional_text();
  return run;
}

base::Result<std::vector<Run>> read_all_runs(Statement& rows) {
  std::vector<Run> runs;
  while (TRY(rows.step())) runs.push_back(read_run(rows));
  return runs;
}

base::Result<std::vector<RunHead>> read_all_heads(Statement& rows) {
  std::vector<RunHead> runs;
  while (TRY(rows.step())) runs.push_back(read_head(rows));
  return runs;
}

}  // namespace

base::Status Store::insert_run(const Run& run) {
  const std::lock_guard lock(mutex_);
  Transaction transaction = TRY(Transaction::begin(*database_));
  {
    Statement insert = TRY(database_->prepare(
        "INSERT INTO runs (id, session_id, language, status, background, code_sha256, server_id, "
        "queued_at, principal_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
        "(SELECT principal_id FROM sessions WHERE id = ?2))"));
    insert.bind(run.id)
        .bind(run.session_id)
        .bind(run.language)
        .bind(run.status)
        .bind(run.background)
        .bind(run.code_sha256)
        .bind(run.server_id)
        .bind(run.queued_at);
    TRY(insert.run());
  }
  {
    Statement touch = TRY(database_->prepare(
        "UPDATE sessions SET last_used_at = max(last_used_at, ?2) WHERE id = ?1"));
    TRY(touch.bind(run.session_id).bind(run.queued_at).run());
  }
  return transaction.commit();
}

base::Status Store::set_run_started(const std::string& run_id) {
  const std::lock_guard lock(mutex_);
  Statement update = TRY(
      database_->prepare("UPDATE runs SET status = 'running' WHERE id = ? AND status = 'queued'"));
  return update.bind(run_id).run();
}

base::Result<bool> Store::finish_run(const std::string& run_id, const std::string& status,
                                     std::int64_t finished_at, const std::string& record,
                                     const std::vector<FileRecord>& files, bool is_read) {
  const std::lock_guard lock(mutex_);
  Transaction transaction = TRY(Transaction::begin(*database_));
  {
    Statement update = TRY(database_->prepare(
        "UPDATE runs SET status = ?2, finished_at = ?3, record = ?4, was_read = ?5 "
        "WHERE id = ?1 AND status IN ('queued', 'running')"));
    TRY(update.bind(run_id).bind(status).bind(finished_at).bind(record).bind(is_read).run());
  }
  if (database_->changed_rows() == 0) return false;
  if (const auto buried = TRY(run_of_buried_session(run_id))) {
    TRY(replace_record(run_id, erased_record({*buried, record})));
  } else {
    for (const FileRecord& file : files) TRY(write_file_record(file));
  }
  TRY(transaction.commit());
  return true;
}

base::Status Store::set_run_read(const std::string& run_id) {
  const std::lock_guard lock(mutex_);
  Statement update = TRY(database_->prepare(
      "UPDATE runs SET was_read = 1 WHERE id = ? AND was_read = 0 AND record IS NOT NULL"));
  return update.bind(run_id).run();
}

base::Result<std::optional<RunHead>> Store::run_of_buried_session(const std::string& run_id) {
  Statement select =
      TRY(database_->prepare("SELECT " HEAD_COLUMNS
                             " FROM runs JOIN sessions ON sessions.id = runs.session_id "
                             "WHERE runs.id = ? AND sessions.buried = 1"));
  select.bind(run_id);
  if (!TRY(select.step())) return std::optional<RunHead>();
  return std::optional<RunHead>(read_head(select));
}

base::Result<std::vector<Run>> Store::some_to_erase(const std::string& session_id,
                                                    const RunHead& after) {
  Statement select =
      TRY(database_->prepare(
          "SELECT " RUN_COLUMNS " FROM runs JOIN sessions ON sessions.id = runs.session_id "
          "WHERE runs.session_id = ? AND sessions.status = 'destroyed' AND runs.record IS NOT NULL "
          "AND (runs.queued_at, runs.id) > (?, ?) ORDER BY runs.queued_at, runs.id LIMIT ?"));
  select.bind(session_id).bind(after.queued_at).bind(after.id).bind(kErasedAtOnce);
  return read_all_runs(select);
}

base::Result<std::optional<std::string>> Store::record_of_run(const std::string& run_id) {
  const std::lock_guard lock(mutex_);
  Statement select = TRY(database_->prepare("SELECT record FROM runs WHERE id = ?"));
  select.bind(run_id);
  if (!TRY(select.step())) return std::optional<std::string>();
  return select.optional_text();
}

base::Result<Run> Store::find_run(const std::string& principal_id, const std::string& run_id) {
  const std::lock_guard lock(mutex_);
  Statement select =
      TRY(database_->prepare("SELECT " RUN_COLUMNS
                             " FROM runs JOIN sessions ON sessions.id = runs.session_id "
                             "WHERE runs.id = ? AND sessions.principal_id = ?"));
  select.bind(run_id).bind(principal_id);
  if (!TRY(select.step())) {
    return base::error(Error::Kind::kNotFound,
                       "no such run; list_sessions shows each session's active runs");
  }
  return read_run(select);
}

base::Result<std::vector<RunHead>> Store::runs_of_session(const std::string& session_id,
                                                          std::int64_t limit) {
  const std::lock_guard lock(mutex_);
  Statement select = TRY(
      database_->prepare("SELECT " HEAD_COLUMNS
                         " FROM runs WHERE session_id = ? ORDER BY queued_at DESC, id LIMIT ?"));
  select.bind(session_id).bind(limit);
  return read_all_heads(select);
}

base::Result<std::vector<RunHead>> Store::newest_runs(const std::string& principal_id,
                                                      const std::optional<RunPlace>& before,
                                                      std::int64_t limit) {
  const std::lock_guard lock(mutex_);
  Statement select =
      TRY(database_->prepare("SELECT " HEAD_COLUMNS
                             " FROM runs WHERE principal_id = ? AND (queued_at, id) < (?, ?) "
                             "ORDER BY queued_at DESC, id DESC LIMIT ?"));
  select.bind(principal_id)
      .bind(before ? before->queued_at : std::numeric_limits<std::int64_t>::max())
      .bind(before ? before->id : "")
      .bind(limit);
  return read_all_heads(select);
}

base::Result<std::set<std::string>> Store::busy_sessions() {
  const std::lock_guard lock(mutex_);
  Statement rows = TRY(database_->prepare(
      "SELECT DISTINCT runs.session_id FROM runs INDEXED BY runs_unfinished CROSS JOIN sessions ON "
      "sessions.id = runs.session_id WHERE runs.status IN ('queued', 'running') AND "
      "sessions.status NOT IN ('paused', 'destroyed')"));
  std::set<std::string> busy;
  while (TRY(rows.step())) busy.insert(rows.text());
  return busy;
}

base::Result<Counts> Store::counts() {
  const std::lock_guard lock(mutex_);
  Counts counts;
  Statement runs =
      TRY(database_->prepare("SELECT status, runs, milliseconds FROM run_counts WHERE runs > 0"));
  while (TRY(runs.step())) {
    const std::string status = runs.text();
    const std::int64_t number = runs.integer();
    counts.runs[status] = {number, runs.integer()};
  }
  Statement sessions =
      TRY(database_->prepare("SELECT status, sessions FROM session_counts WHERE sessions > 0"));
  while (TRY(sessions.step())) {
    const std::string status = sessions.text();
    counts.sessions[status] = sessions.integer();
  }
  return counts;
}

base::Result<std::set<std::string>> Store::recent_languages(std::int64_t since_ms) {
  const std::lock_guard lock(mutex_);
  Statement rows = TRY(database_->prepare(
      "SELECT DISTINCT language FROM (SELECT language, queued_at FROM runs ORDER BY rowid DESC "
      "LIMIT 2000) WHERE queued_at >= ?"));
  rows.bind(since_ms);
  std::set<std::string> languages;
  while (TRY(rows.step())) languages.insert(rows.text());
  return languages;
}

base::Result<std::vector<Run>> Store::unfinished_runs(const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  Statement select =
      TRY(database_->prepare("SELECT " RUN_COLUMNS
                             " FROM runs INDEXED BY runs_unfinished WHERE session_id = ? "
                             "AND status IN ('queued', 'running') "
                             "ORDER BY queued_at, id"));
  select.bind(session_id);
  return read_all_runs(select);
}

}  // namespace sessions
