#include "sessions/file_table.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "sessions/sqlite.h"
#include "sessions/store_file.h"

namespace sessions {

base::Status write_file_record(Database& database, const FileRecord& record) {
  Statement insert = TRY(database.prepare(
      "INSERT INTO files (session_id, run_id, path, change, bytes, sha256, recorded_at) "
      "SELECT id, ?2, ?3, ?4, ?5, ?6, ?7 FROM sessions WHERE id = ?1 AND buried = 0"));
  return insert.bind(record.session_id)
      .bind(record.run_id)
      .bind(record.path)
      .bind(record.change)
      .bind(record.bytes)
      .bind(record.sha256)
      .bind(record.recorded_at)
      .run();
}

base::Status FileTable::record(const FileRecord& record) {
  const std::lock_guard lock(file_.mutex);
  return write_file_record(*file_.database, record);
}

base::Result<std::optional<std::string>> FileTable::change_of_path(const std::string& session_id,
                                                                   const std::string& path,
                                                                   std::int64_t since) {
  using Place = std::pair<std::int64_t, std::int64_t>;  // when, and of the same time the row
  std::map<std::string, Place> last;
  for (const char* change : {"created", "modified", "deleted"}) {
    Statement select = TRY(file_.database->prepare(
        "SELECT recorded_at, id FROM files WHERE session_id = ? AND path = ? "
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

base::Result<std::map<std::string, std::string>> FileTable::changes(
    const std::string& session_id, std::int64_t since, const std::set<std::string>& paths) {
  std::map<std::string, std::string> changes;
  auto path = paths.begin();
  while (path != paths.end()) {
    const std::lock_guard lock(file_.mutex);
    for (std::int64_t i = 0; i < kRowsAtOnce && path != paths.end(); ++i, ++path) {
      const auto change = TRY(change_of_path(session_id, *path, since));
      if (change) changes[*path] = *change;
    }
  }
  return changes;
}

base::Status FileTable::remove_of(const std::string& session_id) {
  while (true) {
    const std::lock_guard lock(file_.mutex);
    Statement remove = TRY(file_.database->prepare(
        "DELETE FROM files WHERE id IN (SELECT files.id FROM sessions CROSS JOIN files ON "
        "files.session_id = sessions.id WHERE sessions.id = ? AND sessions.status = 'destroyed' "
        "LIMIT ?)"));
    TRY(remove.bind(session_id).bind(kRowsAtOnce).run());
    file_.has_erased = true;
    if (file_.database->changed_rows() < kRowsAtOnce) return base::done();
  }
}

}  // namespace sessions
