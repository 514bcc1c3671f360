#include "sessions/store.h"

#include <algorithm>

#include "sandbox/base/clock.h"
#include "sandbox/base/random_id.h"
#include "sessions/migrations.h"

namespace sessions {
namespace {

// A server that was told to end may take this long.
constexpr std::chrono::seconds kMigrationPatience{10};

}  // namespace

base::Result<std::unique_ptr<Store>> Store::open(const std::string& path,
                                                 const MigrationProgress& progress) {
  auto database = TRY(Database::open(path));
  auto schema_lock =
      TRY(migrate_alone(*database, path, migrations(), kMigrationPatience, progress));
  return std::unique_ptr<Store>(new Store(std::move(database), std::move(schema_lock)));
}

base::Result<std::optional<std::string>> Store::principal_named(const std::string& name) {
  Statement select = TRY(database_->prepare("SELECT id FROM principals WHERE name = ?"));
  select.bind(name);
  std::optional<std::string> id;
  if (TRY(select.step())) id = select.text();
  return id;
}

base::Result<std::string> Store::ensure_principal(const std::string& name) {
  const std::lock_guard lock(mutex_);
  // Asked for every request: whoever is known already costs no write.
  if (auto known = TRY(principal_named(name))) return *known;
  {
    Statement insert =
        TRY(database_->prepare("INSERT INTO principals (id, name, created_at) VALUES (?, ?, ?) ON "
                               "CONFLICT (name) DO NOTHING"));
    TRY(insert.bind(base::random_id("principal_")).bind(name).bind(base::now_ms()).run());
  }
  const auto made = TRY(principal_named(name));
  if (!made) return base::error(base::Error::Kind::kInternal, "a new principal is not there");
  return *made;
}

void Store::watch(Database::Observer on_attempt, Notify notify) {
  database_->observe(std::move(on_attempt));
  notify_ = std::move(notify);
}

void Store::tell(const Notice& notice) const {
  if (notify_) notify_(notice);
}

base::Status Store::write_audit(const AuditEntry& entry) {
  Statement insert = TRY(database_->prepare(
      "INSERT INTO audit (at, principal_id, session_id, action, detail) VALUES (?, ?, ?, ?, ?)"));
  return insert.bind(entry.at)
      .bind(entry.principal_id)
      .bind(entry.session_id)
      .bind(entry.action)
      .bind(entry.detail)
      .run();
}

base::Status Store::add_audit(const AuditEntry& entry) {
  const std::lock_guard lock(mutex_);
  return write_audit(entry);
}

base::Result<std::vector<AuditEntry>> Store::audit_of_session(const std::string& session_id,
                                                              std::int64_t limit) {
  const std::lock_guard lock(mutex_);
  Statement select =
      TRY(database_->prepare("SELECT at, principal_id, session_id, action, detail FROM audit WHERE "
                             "session_id = ? ORDER BY id DESC LIMIT ?"));
  select.bind(session_id).bind(limit);
  std::vector<AuditEntry> entries;
  while (TRY(select.step())) {
    AuditEntry& entry = entries.emplace_back();
    entry.at = select.integer();
    entry.principal_id = select.text();
    entry.session_id = select.optional_text();
    entry.action = select.text();
    entry.detail = select.text();
  }
  std::reverse(entries.begin(), entries.end());
  return entries;
}

base::Status Store::record_file(const FileRecord& file) {
  const std::lock_guard lock(mutex_);
  return write_file_record(file);
}

base::Status Store::write_file_record(const FileRecord& file) {
  Statement insert = TRY(database_->prepare(
      "INSERT INTO files (session_id, run_id, path, change, bytes, sha256, recorded_at) "
      "SELECT id, ?2, ?3, ?4, ?5, ?6, ?7 FROM sessions WHERE id = ?1 AND buried = 0"));
  return insert.bind(file.session_id)
      .bind(file.run_id)
      .bind(file.path)
      .bind(file.change)
      .bind(file.bytes)
      .bind(file.sha256)
      .bind(file.recorded_at)
      .run();
}

base::Result<std::optional<std::string>> Store::change_of_path(const std::string& session_id,
                                                               const std::string& path,
                                                               std::int64_t since) {
  using Place = std::pair<std::int64_t, std::int64_t>;  // when, and of the same time the row
  std::map<std::string, Place> last;
  for (const char* change : {"created", "modified", "deleted"}) {
    Statement select = TRY(
        database_->prepare("SELECT recorded_at, id FROM files WHERE session_id = ? AND path = ? "
                           "AND change = ? AND recorded_at >= ? "
                           "ORDER BY recorded_at DESC, id DESC LIMIT 1"));
    select.bind(session_id).bind(path).bind(change).bind(since);
    if (!TRY(select.step())) continue;
    const std::int64_t at = select.integer();
    last[change] = {at, select.integer()};
  }
  if (last.empty()) return std::optional<std::string>();
  const auto newest = std::max_element(
      last.begin(), last.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (newest->first != "modified" || !last.contains("created")) return std::optional(newest->first);
  // A file that was made and then changed was, since then, made.
  const bool is_made = !last.contains("deleted") || last["deleted"] < last["created"];
  return std::optional<std::string>(is_made ? "created" : "modified");
}

base::Result<std::map<std::string, std::string>> Store::file_changes(
    const std::string& session_id, std::int64_t since, const std::set<std::string>& paths) {
  std::map<std::string, std::string> changes;
  auto path = paths.begin();
  while (path != paths.end()) {
    const std::lock_guard lock(mutex_);
    for (std::int64_t i = 0; i < kRowsAtOnce && path != paths.end(); ++i, ++path) {
      const auto change = TRY(change_of_path(session_id, *path, since));
      if (change) changes[*path] = *change;
    }
  }
  return changes;
}

}  // namespace sessions
