// Requests of sessions to the network, in the store.
#include <algorithm>

#include "sandbox/network_quota.h"
#include "sessions/store.h"

namespace sessions {

namespace {

constexpr std::int64_t kRequestsMax = 200'000;  // of all sessions; the oldest go
constexpr std::int64_t kNumbersPerMs = 1000;
constexpr std::int64_t kDaysKept = 31;

}  // namespace

base::Result<std::vector<std::string>> Store::network_grants(const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  Statement select = TRY(database_->prepare(
      "SELECT rule FROM network_grants WHERE session_id = ? ORDER BY granted_at, rule"));
  select.bind(session_id);
  std::vector<std::string> rules;
  while (TRY(select.step())) rules.push_back(select.text());
  return rules;
}

base::Status Store::set_network_grant(const std::string& session_id, const std::string& rule,
                                      bool is_granted, std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  if (is_granted) {
    Statement insert = TRY(database_->prepare(
        "INSERT OR IGNORE INTO network_grants (session_id, rule, granted_at) VALUES (?, ?, ?)"));
    return insert.bind(session_id).bind(rule).bind(now_ms).run();
  }
  Statement remove =
      TRY(database_->prepare("DELETE FROM network_grants WHERE session_id = ? AND rule = ?"));
  return remove.bind(session_id).bind(rule).run();
}

base::Status Store::add_network_requests(const std::string& session_id,
                                         const std::vector<sandbox::NetworkRequest>& requests) {
  const std::lock_guard lock(mutex_);
  Transaction transaction = TRY(Transaction::begin(*database_));
  for (const sandbox::NetworkRequest& request : requests) {
    // What was taken over before is there.
    Statement insert = TRY(database_->prepare(
        "INSERT OR IGNORE INTO network_requests (session_id, number, verdict, host, port, method, "
        "path, status, reason, credential, was_kept, sent_bytes, received_bytes, ms) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING 1"));
    insert.bind(session_id)
        .bind(request.number)
        .bind(request.verdict)
        .bind(request.host)
        .bind(request.port)
        .bind(request.method)
        .bind(request.path)
        .bind(request.status)
        .bind(request.reason)
        .bind(request.credential)
        .bind(request.was_kept)
        .bind(request.sent_bytes)
        .bind(request.received_bytes)
        .bind(request.ms);
    if (TRY(insert.step())) TRY(count_network_bytes(session_id, request));
  }
  Statement remove =
      TRY(database_->prepare("DELETE FROM network_requests WHERE number < (SELECT number FROM "
                             "network_requests ORDER BY number DESC LIMIT 1 OFFSET ?)"));
  TRY(remove.bind(kRequestsMax).run());
  return transaction.commit();
}

base::Status Store::count_network_bytes(const std::string& session_id,
                                        const sandbox::NetworkRequest& request) {
  const std::int64_t bytes = request.sent_bytes + request.received_bytes;
  if (bytes == 0) return base::done();
  Statement session =
      TRY(database_->prepare("UPDATE sessions SET network_bytes = network_bytes + ? WHERE id = ?"));
  TRY(session.bind(bytes).bind(session_id).run());
  const std::int64_t day = sandbox::utc_day_of(request.number / kNumbersPerMs);
  Statement principal = TRY(
      database_->prepare("INSERT INTO network_days (principal_id, day, bytes) SELECT principal_id, "
                         "?, ? FROM sessions WHERE id = ? ON CONFLICT (principal_id, day) DO "
                         "UPDATE SET bytes = bytes + excluded.bytes"));
  TRY(principal.bind(day).bind(bytes).bind(session_id).run());
  Statement remove = TRY(database_->prepare("DELETE FROM network_days WHERE day < ?"));
  return remove.bind(day - kDaysKept).run();
}

base::Result<std::int64_t> Store::network_bytes(const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  Statement select = TRY(database_->prepare("SELECT network_bytes FROM sessions WHERE id = ?"));
  select.bind(session_id);
  return TRY(select.step()) ? select.integer() : 0;
}

base::Result<std::int64_t> Store::network_bytes_on(const std::string& principal_id,
                                                   std::int64_t day) {
  const std::lock_guard lock(mutex_);
  Statement select =
      TRY(database_->prepare("SELECT bytes FROM network_days WHERE principal_id = ? AND day = ?"));
  select.bind(principal_id).bind(day);
  return TRY(select.step()) ? select.integer() : 0;
}

base::Result<std::vector<AuditedRequest>> Store::network_requests(const RequestsWanted& wanted) {
  const std::lock_guard lock(mutex_);
  Statement select = TRY(database_->prepare(
      "SELECT session_id, number, verdict, host, port, method, path, status, reason, credential, "
      "was_kept, sent_bytes, received_bytes, ms FROM network_requests WHERE number > ?1 AND (?2 = "
      "'' OR "
      "session_id = ?2 OR session_id IN (SELECT id FROM sessions WHERE name = ?2)) AND (?3 = 0 OR "
      "verdict = 'refused') ORDER BY number DESC LIMIT ?4"));
  select.bind(wanted.after_number)
      .bind(wanted.session)
      .bind(wanted.refused_only)
      .bind(wanted.limit);
  std::vector<AuditedRequest> found;
  while (TRY(select.step())) {
    AuditedRequest& one = found.emplace_back();
    sandbox::NetworkRequest& request = one.request;
    one.session_id = select.text();
    request.number = select.integer();
    request.verdict = select.text();
    request.host = select.text();
    request.port = select.integer();
    request.method = select.text();
    request.path = select.text();
    request.status = select.integer();
    request.reason = select.text();
    request.credential = select.text();
    request.was_kept = select.integer() != 0;
    request.sent_bytes = select.integer();
    request.received_bytes = select.integer();
    request.ms = select.integer();
  }
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace sessions
