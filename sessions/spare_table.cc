#include "sessions/spare_table.h"

#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/random_id.h"
#include "sessions/audit_table.h"
#include "sessions/session_rows.h"
#include "sessions/sqlite.h"
#include "sessions/store_file.h"

namespace sessions {

using base::Error;

base::Status SpareTable::ensure_principal() {
  const std::lock_guard lock(file_.mutex);
  // Principals are found by their names: one that cannot be guessed is nobody's.
  Statement insert = TRY(
      file_.database->prepare("INSERT INTO principals (id, name, created_at) VALUES (?, ?, ?) ON "
                              "CONFLICT (id) DO NOTHING"));
  return insert.bind(std::string(kSparePrincipal))
      .bind(base::random_id("spare_"))
      .bind(base::now_ms())
      .run();
}

base::Result<bool> SpareTable::withdraw(const std::string& spare_id, const std::string& why) {
  const std::lock_guard lock(file_.mutex);
  Statement update = TRY(
      file_.database->prepare("UPDATE sessions SET status = 'destroyed', ended_at = ?3, error = ?4 "
                              "WHERE id = ?1 AND principal_id = ?2 AND status <> 'destroyed'"));
  update.bind(spare_id).bind(std::string(kSparePrincipal)).bind(base::now_ms()).bind(why);
  TRY(update.run());
  return file_.database->changed_rows() > 0;
}

base::Result<Session> SpareTable::adopt(const std::string& spare_id, const Session& wanted,
                                        const SessionBounds& bounds) {
  const std::lock_guard lock(file_.mutex);
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  TRY(check_room(*file_.database, wanted.principal_id, bounds));
  {
    Statement update = TRY(file_.database->prepare(
        "UPDATE sessions SET principal_id = ?2, name = ?3, ends_with_connection = ?4, "
        "created_at = ?5, last_used_at = ?5, unasked = ?7, lifetime_seconds = ?8, metadata = ?9, "
        "boot_id = ?10, boot_offset_ms = ?11, connection_server = ?12, working_directory = ?13, "
        "public_ports = ?14, wakes_by_port = ?15, pauses_at_end = ?16, "
        "port_host = ?17 "
        "WHERE id = ?1 AND principal_id = ?6 AND status NOT IN ('destroyed', 'error')"));
    update.bind(spare_id)
        .bind(wanted.principal_id)
        .bind(wanted.name)
        .bind(wanted.ends_with_connection)
        .bind(wanted.created_at)
        .bind(std::string(kSparePrincipal))
        .bind(wanted.unasked)
        .bind(wanted.lifetime_seconds)
        .bind(strings_text(wanted.metadata))
        .bind(wanted.boot_id)
        .bind(wanted.boot_offset_ms)
        .bind(wanted.connection_server)
        .bind(wanted.working_directory)
        .bind(wanted.public_ports)
        .bind(wanted.wakes_by_port)
        .bind(wanted.pauses_at_end)
        .bind(wanted.port_host);
    if (auto status = update.run(); !status.ok()) {
      return why_refused(std::move(status).error(), wanted);
    }
  }
  if (file_.database->changed_rows() == 0) {
    return base::error(Error::Kind::kNotFound, "this spare session is gone");
  }
  TRY(write_audit(*file_.database,
                  {wanted.created_at, wanted.principal_id, spare_id, "create_session"}));
  Statement select =
      TRY(file_.database->prepare("SELECT " SESSION_COLUMNS " FROM sessions WHERE id = ?"));
  TRY(select.bind(spare_id).step());
  Session adopted = read_session(select);
  TRY(transaction.commit());
  return adopted;
}

base::Status SpareTable::forget(const std::string& id) {
  const std::lock_guard lock(file_.mutex);
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  for (const char* sql :
       {"DELETE FROM audit WHERE session_id = ? AND principal_id = ?",
        "DELETE FROM sessions WHERE id = ? AND principal_id = ? AND status = 'destroyed'"}) {
    Statement statement = TRY(file_.database->prepare(sql));
    TRY(statement.bind(id).bind(std::string(kSparePrincipal)).run());
  }
  return transaction.commit();
}

}  // namespace sessions
