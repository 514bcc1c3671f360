#include "sessions/upkeep_table.h"

#include <mutex>
#include <utility>

#include "sessions/sqlite.h"
#include "sessions/store_file.h"

namespace sessions {

base::Result<Upkeep> UpkeepTable::read() {
  Statement select = TRY(
      file_.database->prepare("SELECT swept_at, leap_ms, held_at, held_ms, held_why, trusted_at, "
                              "released, boot_id, counted_ms FROM upkeep WHERE id = 1"));
  Upkeep upkeep;
  if (!TRY(select.step())) return upkeep;
  upkeep.swept_at = select.optional_integer();
  upkeep.leap_ms = select.integer();
  upkeep.held_at = select.optional_integer();
  upkeep.held_ms = select.integer();
  upkeep.held_why = select.text();
  upkeep.trusted_at = select.integer();
  upkeep.released = select.integer() != 0;
  upkeep.boot_id = select.text();
  upkeep.counted_ms = select.integer();
  return upkeep;
}

base::Status UpkeepTable::write(const Upkeep& upkeep) {
  Statement replace = TRY(file_.database->prepare(
      "REPLACE INTO upkeep (id, swept_at, leap_ms, held_at, held_ms, held_why, "
      "trusted_at, released, boot_id, counted_ms) "
      "VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  return replace.bind(upkeep.swept_at)
      .bind(upkeep.leap_ms)
      .bind(upkeep.held_at)
      .bind(upkeep.held_ms)
      .bind(upkeep.held_why)
      .bind(upkeep.trusted_at)
      .bind(upkeep.released)
      .bind(upkeep.boot_id)
      .bind(upkeep.counted_ms)
      .run();
}

base::Result<Upkeep> UpkeepTable::find() {
  const std::lock_guard lock(file_.mutex);
  return read();
}

base::Result<HoldDecision> UpkeepTable::begin_sweep(const Moment& now, std::int64_t served_since_ms,
                                                    const Due& due,
                                                    std::int64_t retention_seconds) {
  const std::lock_guard lock(file_.mutex);
  auto transaction = Transaction::begin(*file_.database);
  const bool is_full = !transaction.ok() && transaction.error().kind == base::Error::Kind::kLimit;
  if (!transaction.ok() && !is_full) return std::move(transaction).error();
  const Upkeep before = TRY(read());
  const HoldDecision decision = decide(before, now, served_since_ms, due, retention_seconds);
  if (is_full) return decision;  // deleting makes room
  auto written = write(decision.next);
  if (written.ok()) written = transaction.value().commit();
  if (!written.ok() && written.error().kind != base::Error::Kind::kLimit) return written.error();
  return decision;
}

base::Status UpkeepTable::end_sweep() {
  const std::lock_guard lock(file_.mutex);
  // Most often there is nothing to change, and nothing is written.
  Statement update =
      TRY(file_.database->prepare("UPDATE upkeep SET released = 0 WHERE id = 1 AND released = 1"));
  return update.run();
}

base::Result<bool> UpkeepTable::release_deletion() {
  const std::lock_guard lock(file_.mutex);
  Statement update =
      TRY(file_.database->prepare("UPDATE upkeep SET held_at = NULL, released = 1 "
                                  "WHERE id = 1 AND held_at IS NOT NULL"));
  TRY(update.run());
  return file_.database->changed_rows() > 0;
}

bool UpkeepTable::may_delete_by_time(std::int64_t now_ms) {
  const auto known = find();
  return known.ok() && may_delete(known.value(), now_ms);
}

}  // namespace sessions
