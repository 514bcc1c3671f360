#include "sessions/audit_table.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sessions/sqlite.h"
#include "sessions/store_file.h"

namespace sessions {

base::Status write_audit(Database& database, const AuditEntry& entry) {
  Statement insert = TRY(database.prepare(
      "INSERT INTO audit (at, principal_id, session_id, action, detail) VALUES (?, ?, ?, ?, ?)"));
  return insert.bind(entry.at)
      .bind(entry.principal_id)
      .bind(entry.session_id)
      .bind(entry.action)
      .bind(base::print_json(entry.detail))
      .run();
}

base::Status AuditTable::add(const AuditEntry& entry) {
  const std::lock_guard lock(file_.mutex);
  return write_audit(*file_.database, entry);
}

base::Result<std::vector<AuditEntry>> AuditTable::of_session(const std::string& session_id,
                                                             std::int64_t limit) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare(
      "SELECT at, principal_id, session_id, action, detail FROM audit WHERE "
      "session_id = ? ORDER BY id DESC LIMIT ?"));
  select.bind(session_id).bind(limit);
  std::vector<AuditEntry> entries;
  while (TRY(select.step())) {
    AuditEntry& entry = entries.emplace_back();
    entry.at = select.integer();
    entry.principal_id = select.text();
    entry.session_id = select.optional_text();
    entry.action = select.text();
    // Something that is no JSON is left out.
    auto detail = base::parse_json(select.text());
    if (detail.ok()) entry.detail = std::move(detail).value();
  }
  std::reverse(entries.begin(), entries.end());
  return entries;
}

}  // namespace sessions
