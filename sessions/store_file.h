// The open database that the tables of a Store share: one connection behind a mutex. Every change
// and its audit row are one transaction.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "base/fd.h"
#include "sessions/notice.h"
#include "sessions/sqlite.h"

namespace sessions {

// A call that needs more rows of one principal than these lets others have their turn in
// between.
inline constexpr std::int64_t kRowsAtOnce = 250;

struct StoreFile {
  StoreFile(std::unique_ptr<Database> opened, base::UniqueFd lock)
      : schema_lock(std::move(lock)), database(std::move(opened)) {}

  // It does nothing where nobody wants to hear of it.
  void tell(const Notice& notice) const {
    if (notify) notify(notice);
  }

  const base::UniqueFd schema_lock;  // as long as it is held, the schema stays as it is
  std::mutex mutex;
  const std::unique_ptr<Database> database;
  Notify notify;
  bool has_erased = false;  // since PastTable::shrink() has emptied the log
};

}  // namespace sessions
