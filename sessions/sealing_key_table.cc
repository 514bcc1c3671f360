#include "sessions/sealing_key_table.h"

#include <algorithm>
#include <mutex>

#include "base/random_id.h"
#include "sessions/sqlite.h"
#include "sessions/store_file.h"

namespace sessions {

namespace {

// 256 bits of getrandom(2) as hexadecimal digits.
std::string new_key() { return base::random_id("") + base::random_id(""); }

}  // namespace

base::Result<std::vector<std::string>> SealingKeyTable::find_newest(std::int64_t now) {
  std::vector<std::string> keys;
  std::int64_t newest_at = 0;
  Statement select = TRY(file_.database->prepare(
      "SELECT key, made_at FROM sealing_keys WHERE made_at > ? ORDER BY made_at DESC, id DESC"));
  select.bind(now - kSealingKeyMs - kSealingKeyKeptMs);
  while (TRY(select.step())) {
    keys.push_back(select.text());
    newest_at = std::max(newest_at, select.integer());
  }
  if (newest_at <= now - kSealingKeyMs) keys.clear();
  return keys;
}

base::Result<std::vector<std::string>> SealingKeyTable::newest(std::int64_t now) {
  const std::lock_guard lock(file_.mutex);
  auto keys = TRY(find_newest(now));
  if (!keys.empty()) return keys;
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  // Read inside the transaction: another server may have just made one.
  keys = TRY(find_newest(now));
  if (keys.empty()) {
    Statement insert =
        TRY(file_.database->prepare("INSERT INTO sealing_keys (key, made_at) VALUES (?, ?)"));
    TRY(insert.bind(new_key()).bind(now).run());
    Statement remove = TRY(file_.database->prepare("DELETE FROM sealing_keys WHERE made_at <= ?"));
    TRY(remove.bind(now - kSealingKeyMs - kSealingKeyKeptMs).run());
    keys = TRY(find_newest(now));
  }
  TRY(transaction.commit());
  return keys;
}

}  // namespace sessions
