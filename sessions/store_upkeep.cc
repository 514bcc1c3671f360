// Keeps in the store what sweeps leave to the next one: see deletion_hold.h.
#include "sessions/store.h"

namespace sessions {

base::Result<Upkeep> Store::read_upkeep() {
  Statement select =
      TRY(database_->prepare("SELECT swept_at, leap_ms, held_at, held_ms, held_why, trusted_at, "
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

base::Status Store::write_upkeep(const Upkeep& upkeep) {
  Statement replace = TRY(
      database_->prepare("REPLACE INTO upkeep (id, swept_at, leap_ms, held_at, held_ms, held_why, "
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

base::Result<Upkeep> Store::upkeep() {
  const std::lock_guard lock(mutex_);
  return read_upkeep();
}

base::Result<HoldDecision> Store::begin_sweep(const Moment& now, std::int64_t served_since_ms,
                                              const Due& due, std::int64_t retention_seconds) {
  const std::lock_guard lock(mutex_);
  auto transaction = Transaction::begin(*database_);
  const bool is_full = !transaction.ok() && transaction.error().kind == base::Error::Kind::kLimit;
  if (!transaction.ok() && !is_full) return std::move(transaction).error();
  const Upkeep before = TRY(read_upkeep());
  const HoldDecision decision = decide(before, now, served_since_ms, due, retention_seconds);
  if (is_full) return decision;  // what is deleted makes room
  auto written = write_upkeep(decision.next);
  if (written.ok()) written = transaction.value().commit();
  if (!written.ok() && written.error().kind != base::Error::Kind::kLimit) return written.error();
  return decision;
}

base::Status Store::end_sweep() {
  const std::lock_guard lock(mutex_);
  // Most often there is nothing to change, and nothing is written.
  Statement update =
      TRY(database_->prepare("UPDATE upkeep SET released = 0 WHERE id = 1 AND released = 1"));
  return update.run();
}

base::Result<bool> Store::release_deletion() {
  const std::lock_guard lock(mutex_);
  Statement update =
      TRY(database_->prepare("UPDATE upkeep SET held_at = NULL, released = 1 "
                             "WHERE id = 1 AND held_at IS NOT NULL"));
  TRY(update.run());
  return database_->changed_rows() > 0;
}

bool Store::may_delete_by_time(std::int64_t now_ms) {
  const auto known = upkeep();
  return known.ok() && may_delete(known.value(), now_ms);
}

base::Result<bool> Store::session_is_on_record(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Statement select = TRY(database_->prepare("SELECT 1 FROM sessions WHERE id = ?"));
  return select.bind(id).step();
}

}  // namespace sessions
