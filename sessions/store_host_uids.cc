// The ids on the host that sessions hold, in a state directory that is another than it was.
#include <set>

#include "sessions/store.h"

namespace sessions {

base::Result<std::size_t> Store::renew_host_uids(
    const HostUidRange& range, const std::function<bool(const std::string& session_id)>& may) {
  const std::lock_guard lock(mutex_);
  const auto read_strangers = [&]() -> base::Result<std::vector<std::string>> {
    Statement select = TRY(database_->prepare(
        "SELECT id FROM sessions WHERE status <> 'destroyed' AND (host_uid IS NULL OR host_uid < "
        "?1 OR host_uid >= ?2) ORDER BY created_at, id"));
    select.bind(range.first).bind(range.first + range.count);
    std::vector<std::string> ids;
    while (TRY(select.step())) ids.push_back(select.text());
    return ids;
  };
  // Nearly every start: it writes nothing, and waits for nobody.
  if (TRY(read_strangers()).empty()) return std::size_t{0};
  Transaction transaction = TRY(Transaction::begin(*database_));
  std::set<std::int64_t> held;
  {
    Statement select =
        TRY(database_->prepare("SELECT host_uid FROM sessions WHERE host_uid IS NOT NULL"));
    while (TRY(select.step())) held.insert(select.integer());
  }
  std::size_t renewed = 0;
  std::int64_t next = range.first;
  for (const std::string& id : TRY(read_strangers())) {
    if (!may(id)) continue;
    while (held.contains(next)) ++next;
    if (!range.has(next)) {
      return base::error(base::Error::Kind::kLimit,
                         "no free user id for a session of this copied state directory");
    }
    Statement update = TRY(database_->prepare("UPDATE sessions SET host_uid = ?2 WHERE id = ?1"));
    TRY(update.bind(id).bind(next++).run());
    ++renewed;
  }
  TRY(transaction.commit());
  return renewed;
}

}  // namespace sessions
