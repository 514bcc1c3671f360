#include "sessions/run_table.h"

#include <limits>
#include <mutex>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "sandbox/run.h"
#include "sessions/file_table.h"
#include "sessions/run_record.h"
#include "sessions/sqlite.h"
#include "sessions/store_file.h"

namespace sessions {

using base::Error;

namespace {

// Runs whose records are made short in one transaction: a record has up to 2 MB, and others wait.
constexpr std::int64_t kErasedAtOnce = 8;
// A language's last use is written anew once it is so much later: most runs write nothing for it.
constexpr std::int64_t kLanguageUseStepMs = 60'000;

// How a run ended may be large: where it is not needed, it is not read.
#define RUN_COLUMNS                                                                           \
  "runs.id, runs.session_id, runs.language, runs.status, runs.background, runs.code_sha256, " \
  "runs.server_id, runs.queued_at, runs.finished_at, runs.was_read"

// As the column was_read has it.
std::int64_t stored(EndRead read) {
  if (read == EndRead::kNot) return 0;
  return read == EndRead::kAsItEnds ? 1 : base::now_ms();
}

Run read_run(Statement& row) {
  Run run;
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

base::Result<std::vector<Run>> read_all_runs(Statement& rows) {
  std::vector<Run> runs;
  while (TRY(rows.step())) runs.push_back(read_run(rows));
  return runs;
}

std::string printed(const sandbox::Run& end) { return base::print_json(sandbox::run_to_json(end)); }

base::Result<sandbox::Run> parsed(const std::string& record) {
  return sandbox::run_from_json(TRY(base::parse_json(record)));
}

struct Ended {
  Run run;
  std::string record;
};

base::Result<std::vector<Ended>> some_to_erase(Database& database, const std::string& session_id,
                                               const Run& after) {
  Statement rows = TRY(database.prepare(
      "SELECT " RUN_COLUMNS
      ", runs.record FROM runs JOIN sessions ON sessions.id = runs.session_id "
      "WHERE runs.session_id = ? AND sessions.status = 'destroyed' AND runs.record IS NOT NULL "
      "AND (runs.queued_at, runs.id) > (?, ?) ORDER BY runs.queued_at, runs.id LIMIT ?"));
  rows.bind(session_id).bind(after.queued_at).bind(after.id).bind(kErasedAtOnce);
  std::vector<Ended> ended;
  while (TRY(rows.step())) {
    Run run = read_run(rows);
    ended.push_back({std::move(run), rows.text()});
  }
  return ended;
}

}  // namespace

base::Status RunTable::insert(const Run& run) {
  const std::lock_guard lock(file_.mutex);
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  {
    Statement insert = TRY(file_.database->prepare(
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
    Statement touch = TRY(file_.database->prepare(
        "UPDATE sessions SET last_used_at = max(last_used_at, ?2) WHERE id = ?1"));
    TRY(touch.bind(run.session_id).bind(run.queued_at).run());
  }
  {
    Statement use = TRY(file_.database->prepare(
        "INSERT INTO language_uses VALUES (?1, ?2) ON CONFLICT (language) DO UPDATE "
        "SET used_at = excluded.used_at WHERE excluded.used_at >= used_at + ?3"));
    TRY(use.bind(run.language).bind(run.queued_at).bind(kLanguageUseStepMs).run());
  }
  return transaction.commit();
}

base::Status RunTable::set_started(const std::string& run_id) {
  const std::lock_guard lock(file_.mutex);
  Statement update = TRY(file_.database->prepare(
      "UPDATE runs SET status = 'running' WHERE id = ? AND status = 'queued'"));
  return update.bind(run_id).run();
}

base::Result<bool> RunTable::finish(const std::string& run_id, const sandbox::Run& end,
                                    const std::vector<FileRecord>& files, EndRead read) {
  const std::string record = printed(end);
  const std::lock_guard lock(file_.mutex);
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  {
    Statement update = TRY(file_.database->prepare(
        "UPDATE runs SET status = ?2, finished_at = ?3, record = ?4, was_read = ?5 "
        "WHERE id = ?1 AND status IN ('queued', 'running')"));
    update.bind(run_id).bind(name_of(end.status)).bind(end.finished_at_ms);
    TRY(update.bind(record).bind(stored(read)).run());
  }
  if (file_.database->changed_rows() == 0) return false;
  if (const auto buried = TRY(run_of_buried_session(run_id))) {
    TRY(replace_record(run_id, printed(erased_run(*buried, end))));
  } else {
    for (const FileRecord& file : files) TRY(write_file_record(*file_.database, file));
  }
  TRY(transaction.commit());
  return true;
}

base::Status RunTable::set_read(const std::string& run_id, EndRead read) {
  const std::lock_guard lock(file_.mutex);
  Statement update = TRY(file_.database->prepare(
      "UPDATE runs SET was_read = ?2 WHERE id = ?1 AND was_read = 0 AND record IS NOT NULL"));
  return update.bind(run_id).bind(stored(read)).run();
}

base::Result<std::optional<sandbox::Run>> RunTable::end_of(const std::string& run_id) {
  std::optional<std::string> record;
  {
    const std::lock_guard lock(file_.mutex);
    Statement select = TRY(file_.database->prepare("SELECT record FROM runs WHERE id = ?"));
    select.bind(run_id);
    if (TRY(select.step())) record = select.optional_text();
  }
  if (!record) return std::optional<sandbox::Run>();
  return std::optional<sandbox::Run>(TRY(parsed(*record)));
}

base::Result<Run> RunTable::find(const std::string& principal_id, const std::string& run_id) {
  const std::lock_guard lock(file_.mutex);
  Statement select =
      TRY(file_.database->prepare("SELECT " RUN_COLUMNS
                                  " FROM runs JOIN sessions ON sessions.id = runs.session_id "
                                  "WHERE runs.id = ? AND sessions.principal_id = ?"));
  select.bind(run_id).bind(principal_id);
  if (!TRY(select.step())) {
    return base::error(Error::Kind::kNotFound,
                       "no such run; get_run without run_id lists a session's runs");
  }
  return read_run(select);
}

base::Result<std::vector<Run>> RunTable::of_session(const std::string& session_id,
                                                    std::int64_t limit) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare(
      "SELECT " RUN_COLUMNS " FROM runs WHERE session_id = ? ORDER BY queued_at DESC, id LIMIT ?"));
  select.bind(session_id).bind(limit);
  return read_all_runs(select);
}

base::Result<std::vector<Run>> RunTable::newest(const std::string& principal_id,
                                                const std::optional<RunPlace>& before,
                                                std::int64_t limit) {
  const std::lock_guard lock(file_.mutex);
  Statement select =
      TRY(file_.database->prepare("SELECT " RUN_COLUMNS
                                  " FROM runs WHERE principal_id = ? AND (queued_at, id) < (?, ?) "
                                  "ORDER BY queued_at DESC, id DESC LIMIT ?"));
  select.bind(principal_id)
      .bind(before ? before->queued_at : std::numeric_limits<std::int64_t>::max())
      .bind(before ? before->id : "")
      .bind(limit);
  return read_all_runs(select);
}

base::Result<std::vector<Run>> RunTable::unfinished(const std::string& session_id) {
  const std::lock_guard lock(file_.mutex);
  Statement select =
      TRY(file_.database->prepare("SELECT " RUN_COLUMNS
                                  " FROM runs INDEXED BY runs_unfinished WHERE session_id = ? "
                                  "AND status IN ('queued', 'running') "
                                  "ORDER BY queued_at, id"));
  select.bind(session_id);
  return read_all_runs(select);
}

base::Result<std::optional<Run>> RunTable::run_of_buried_session(const std::string& run_id) {
  Statement select =
      TRY(file_.database->prepare("SELECT " RUN_COLUMNS
                                  " FROM runs JOIN sessions ON sessions.id = runs.session_id "
                                  "WHERE runs.id = ? AND sessions.buried = 1"));
  select.bind(run_id);
  if (!TRY(select.step())) return std::optional<Run>();
  return std::optional<Run>(read_run(select));
}

base::Status RunTable::erase_records(const std::string& session_id) {
  Run last;
  while (true) {
    std::vector<Ended> ended;
    {
      const std::lock_guard lock(file_.mutex);
      ended = TRY(some_to_erase(*file_.database, session_id, last));
    }
    if (ended.empty()) return base::done();
    last = ended.back().run;
    // Runs that have ended do not change any more: no lock is needed while records are read.
    for (auto& [run, record] : ended) {
      const auto end = parsed(record);
      // One that cannot be read has nothing to keep.
      record = printed(erased_run(run, end.ok() ? end.value() : run_of(run)));
    }
    const std::lock_guard lock(file_.mutex);
    Transaction transaction = TRY(Transaction::begin(*file_.database));
    for (const auto& [run, record] : ended) TRY(replace_record(run.id, record));
    TRY(transaction.commit());
  }
}

// The row moves to the end of its table: one that only became shorter would leave its page as it
// is, mostly empty and never free, so that the file would grow with every run there ever was.
base::Status RunTable::replace_record(const std::string& run_id, const std::string& record) {
  Statement update = TRY(file_.database->prepare(
      "UPDATE runs SET record = ?2, rowid = (SELECT max(rowid) + 1 FROM runs) "
      "WHERE id = ?1"));
  return update.bind(run_id).bind(record).run();
}

base::Result<std::set<std::string>> RunTable::busy_sessions() {
  const std::lock_guard lock(file_.mutex);
  Statement rows = TRY(file_.database->prepare(
      "SELECT DISTINCT runs.session_id FROM runs INDEXED BY runs_unfinished CROSS JOIN sessions ON "
      "sessions.id = runs.session_id WHERE runs.status IN ('queued', 'running') AND "
      "sessions.status NOT IN ('paused', 'destroyed')"));
  std::set<std::string> busy;
  while (TRY(rows.step())) busy.insert(rows.text());
  return busy;
}

base::Result<std::set<std::string>> RunTable::recent_languages(std::int64_t since_ms) {
  const std::lock_guard lock(file_.mutex);
  Statement rows =
      TRY(file_.database->prepare("SELECT language FROM language_uses WHERE used_at > ? - ?"));
  rows.bind(since_ms).bind(kLanguageUseStepMs);
  std::set<std::string> languages;
  while (TRY(rows.step())) languages.insert(rows.text());
  return languages;
}

base::Result<Counts> RunTable::counts() {
  const std::lock_guard lock(file_.mutex);
  Counts counts;
  // Unfinished ones are walked over: they are no more than the queues of all boxes hold.
  Statement runs = TRY(file_.database->prepare(
      "SELECT status, sum(runs), sum(milliseconds) FROM run_counts GROUP BY status HAVING "
      "sum(runs) > 0 UNION ALL "
      "SELECT status, count(*), 0 FROM runs INDEXED BY runs_unfinished "
      "WHERE status IN ('queued', 'running') GROUP BY status"));
  while (TRY(runs.step())) {
    const std::string status = runs.text();
    const std::int64_t number = runs.integer();
    counts.runs[status] = {number, runs.integer()};
  }
  Statement sessions = TRY(
      file_.database->prepare("SELECT status, sum(sessions) FROM session_counts GROUP BY status "
                              "HAVING sum(sessions) > 0"));
  while (TRY(sessions.step())) {
    const std::string status = sessions.text();
    counts.sessions[status] = sessions.integer();
  }
  return counts;
}

}  // namespace sessions
