#include "sessions/network_table.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <utility>

#include "sandbox/network_quota.h"
#include "sessions/sqlite.h"
#include "sessions/store_file.h"

namespace sessions {

namespace {

#define REQUEST_COLUMNS                                                                   \
  "session_id, number, verdict, host, port, method, path, status, reason, missing_rule, " \
  "credential, was_kept, sent_bytes, received_bytes, ms, is_open, more"

constexpr const char* kAllPrincipals = "*";
constexpr std::int64_t kNumbersPerMs = 1000;
constexpr std::int64_t kDaysKept = 31;
constexpr std::chrono::minutes kTellEvery{1};

AuditedRequest audited_request(Statement& row) {
  AuditedRequest one;
  sandbox::NetworkRequest& request = one.request;
  one.session_id = row.text();
  request.number = row.integer();
  request.verdict = row.text();
  request.host = row.text();
  request.port = row.integer();
  request.method = row.text();
  request.path = row.text();
  request.status = row.integer();
  request.reason = row.text();
  request.missing_rule = row.text();
  request.credential = row.text();
  request.was_kept = row.integer() != 0;
  request.sent_bytes = row.integer();
  request.received_bytes = row.integer();
  request.ms = row.integer();
  request.is_open = row.integer() != 0;
  request.more = row.integer();
  return one;
}

}  // namespace

base::Result<std::vector<std::string>> NetworkTable::grants(const std::string& session_id) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare(
      "SELECT rule FROM network_grants WHERE session_id = ? ORDER BY granted_at, rule"));
  select.bind(session_id);
  std::vector<std::string> rules;
  while (TRY(select.step())) rules.push_back(select.text());
  return rules;
}

base::Status NetworkTable::set_grant(const std::string& session_id, const std::string& rule,
                                     bool is_granted, std::int64_t now_ms) {
  const std::lock_guard lock(file_.mutex);
  if (is_granted) {
    Statement insert = TRY(file_.database->prepare(
        "INSERT OR IGNORE INTO network_grants (session_id, rule, granted_at) "
        "SELECT id, ?2, ?3 FROM sessions WHERE id = ?1 AND status <> 'destroyed'"));
    return insert.bind(session_id).bind(rule).bind(now_ms).run();
  }
  Statement remove =
      TRY(file_.database->prepare("DELETE FROM network_grants WHERE session_id = ? AND rule = ?"));
  return remove.bind(session_id).bind(rule).run();
}

base::Result<std::int64_t> NetworkTable::journal_taken(const std::string& session_id) {
  const std::lock_guard lock(file_.mutex);
  return find_taken(session_id);
}

base::Result<std::int64_t> NetworkTable::find_taken(const std::string& session_id) {
  Statement select =
      TRY(file_.database->prepare("SELECT taken FROM network_journals WHERE session_id = ?"));
  select.bind(session_id);
  return TRY(select.step()) ? select.integer() : 0;
}

base::Result<bool> NetworkTable::take_journal(const std::string& session_id, std::int64_t after,
                                              const std::vector<sandbox::JournalEntry>& entries,
                                              std::int64_t requests_most) {
  using Kind = sandbox::JournalEntry::Kind;
  const std::lock_guard lock(file_.mutex);
  Transaction transaction = TRY(Transaction::begin(*file_.database));
  if (entries.empty() || TRY(find_taken(session_id)) != after) return false;
  const std::string principal_id = TRY(principal_of(session_id));
  std::int64_t inserted = 0;
  std::map<std::int64_t, std::int64_t> bytes_by_day;
  for (const sandbox::JournalEntry& entry : entries) {
    if (entry.kind == Kind::kGoesOn) TRY(update_request(session_id, entry.request));
    if (entry.kind == Kind::kBegins) {
      // An entry that an earlier journal had as well is there already.
      if (!TRY(insert_request(session_id, principal_id, entry.request))) continue;
      ++inserted;
    }
    bytes_by_day[sandbox::utc_day_of(entry.at / kNumbersPerMs)] += entry.used_bytes;
  }
  for (const auto& [day, bytes] : bytes_by_day) {
    TRY(count_bytes(session_id, principal_id, day, bytes));
  }
  for (const std::string& share : {principal_id, std::string(kAllPrincipals)}) {
    TRY(count_requests(share, inserted, 0));
  }
  const std::int64_t gone = TRY(drop_oldest_requests(requests_most));
  Statement mark = TRY(
      file_.database->prepare("INSERT INTO network_journals (session_id, taken) VALUES (?, ?) ON "
                              "CONFLICT (session_id) DO UPDATE SET taken = excluded.taken"));
  TRY(mark.bind(session_id).bind(entries.back().end).run());
  TRY(transaction.commit());
  tell_gone(gone, requests_most);
  return true;
}

// They go one by one as others come: one line tells of those of a minute.
void NetworkTable::tell_gone(std::int64_t gone, std::int64_t requests_most) {
  untold_ += gone;
  const auto now = std::chrono::steady_clock::now();
  if (untold_ == 0 || (told_at_ && now - *told_at_ < kTellEvery)) return;
  told_at_ = now;
  file_.tell({Notice::Level::kInfo,
              std::to_string(std::exchange(untold_, 0)) +
                  " requests deleted from the audit of the network, the oldest of who has most: "
                  "there are more than " +
                  std::to_string(requests_most)});
}

base::Result<std::string> NetworkTable::principal_of(const std::string& session_id) {
  Statement select = TRY(file_.database->prepare("SELECT principal_id FROM sessions WHERE id = ?"));
  select.bind(session_id);
  return TRY(select.step()) ? select.text() : std::string();
}

base::Result<bool> NetworkTable::insert_request(const std::string& session_id,
                                                const std::string& principal_id,
                                                const sandbox::NetworkRequest& request) {
  Statement insert = TRY(file_.database->prepare(
      "INSERT OR IGNORE INTO network_requests (session_id, number, principal_id, verdict, host, "
      "port, method, path, status, reason, missing_rule, credential, was_kept, sent_bytes, "
      "received_bytes, ms, is_open, more) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING 1"));
  insert.bind(session_id)
      .bind(request.number)
      .bind(principal_id)
      .bind(request.verdict)
      .bind(request.host)
      .bind(request.port)
      .bind(request.method)
      .bind(request.path)
      .bind(request.status)
      .bind(request.reason)
      .bind(request.missing_rule)
      .bind(request.credential)
      .bind(request.was_kept)
      .bind(request.sent_bytes)
      .bind(request.received_bytes)
      .bind(request.ms)
      .bind(request.is_open)
      .bind(request.more);
  return insert.step();
}

// One that has made way stays away.
base::Status NetworkTable::update_request(const std::string& session_id,
                                          const sandbox::NetworkRequest& request) {
  Statement update = TRY(file_.database->prepare(
      "UPDATE network_requests SET status = coalesce(nullif(?3, 0), status), credential = "
      "coalesce(nullif(?4, ''), credential), was_kept = max(was_kept, ?5), sent_bytes = "
      "max(sent_bytes, ?6), received_bytes = max(received_bytes, ?7), ms = max(ms, ?8), is_open = "
      "?9 WHERE session_id = ?1 AND number = ?2"));
  return update.bind(session_id)
      .bind(request.number)
      .bind(request.status)
      .bind(request.credential)
      .bind(request.was_kept)
      .bind(request.sent_bytes)
      .bind(request.received_bytes)
      .bind(request.ms)
      .bind(request.is_open)
      .run();
}

base::Status NetworkTable::end_requests(const std::string& session_id) {
  const std::lock_guard lock(file_.mutex);
  Statement update = TRY(file_.database->prepare(
      "UPDATE network_requests SET is_open = 0 WHERE session_id = ? AND is_open = 1"));
  return update.bind(session_id).run();
}

base::Status NetworkTable::count_requests(const std::string& share, std::int64_t more,
                                          std::int64_t gone) {
  Statement count = TRY(file_.database->prepare(
      "INSERT INTO network_shares (principal_id, requests, gone) VALUES (?1, ?2, ?3) ON CONFLICT "
      "(principal_id) DO UPDATE SET requests = requests + ?2, gone = gone + ?3"));
  return count.bind(share).bind(more).bind(gone).run();
}

base::Result<std::int64_t> NetworkTable::drop_oldest_requests(std::int64_t requests_most) {
  std::int64_t all_gone = 0;
  while (true) {
    const std::int64_t over = TRY(requests_of_all()) - requests_most;
    if (over <= 0) return all_gone;
    Statement largest = TRY(file_.database->prepare(
        "SELECT principal_id, requests FROM network_shares WHERE principal_id "
        "<> '*' ORDER BY requests DESC LIMIT 2"));
    if (!TRY(largest.step())) return all_gone;
    const std::string principal_id = largest.text();
    const std::int64_t most = largest.integer();
    std::int64_t next = 0;
    if (TRY(largest.step())) {
      (void)largest.text();
      next = largest.integer();
    }
    Statement remove = TRY(file_.database->prepare(
        "DELETE FROM network_requests WHERE (session_id, number) IN (SELECT session_id, number "
        "FROM network_requests WHERE principal_id = ? ORDER BY number LIMIT ?)"));
    TRY(remove.bind(principal_id)
            .bind(std::clamp<std::int64_t>(std::max(most - next, over / 2), 1, over))
            .run());
    const std::int64_t gone = file_.database->changed_rows();
    if (gone == 0) return all_gone;
    all_gone += gone;
    TRY(count_requests(principal_id, -gone, gone));
    TRY(count_requests(kAllPrincipals, -gone, gone));
  }
}

base::Result<std::int64_t> NetworkTable::requests_of_all() {
  Statement select =
      TRY(file_.database->prepare("SELECT requests FROM network_shares WHERE principal_id = '*'"));
  return TRY(select.step()) ? select.integer() : 0;
}

base::Result<std::int64_t> NetworkTable::requests_gone() {
  const std::lock_guard lock(file_.mutex);
  Statement select =
      TRY(file_.database->prepare("SELECT gone FROM network_shares WHERE principal_id = '*'"));
  return TRY(select.step()) ? select.integer() : 0;
}

base::Status NetworkTable::count_bytes(const std::string& session_id,
                                       const std::string& principal_id, std::int64_t day,
                                       std::int64_t bytes) {
  if (bytes == 0) return base::done();
  Statement session = TRY(file_.database->prepare(
      "UPDATE sessions SET network_bytes = network_bytes + ? WHERE id = ?"));
  TRY(session.bind(bytes).bind(session_id).run());
  if (principal_id.empty()) return base::done();
  Statement principal = TRY(file_.database->prepare(
      "INSERT INTO network_days (principal_id, day, bytes) VALUES (?, ?, ?) ON CONFLICT "
      "(principal_id, day) DO UPDATE SET bytes = bytes + excluded.bytes"));
  TRY(principal.bind(principal_id).bind(day).bind(bytes).run());
  Statement remove = TRY(file_.database->prepare("DELETE FROM network_days WHERE day < ?"));
  return remove.bind(day - kDaysKept).run();
}

base::Result<std::int64_t> NetworkTable::bytes(const std::string& session_id) {
  const std::lock_guard lock(file_.mutex);
  Statement select =
      TRY(file_.database->prepare("SELECT network_bytes FROM sessions WHERE id = ?"));
  select.bind(session_id);
  return TRY(select.step()) ? select.integer() : 0;
}

base::Result<std::int64_t> NetworkTable::bytes_on(const std::string& principal_id,
                                                  std::int64_t day) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(
      file_.database->prepare("SELECT bytes FROM network_days WHERE principal_id = ? AND day = ?"));
  select.bind(principal_id).bind(day);
  return TRY(select.step()) ? select.integer() : 0;
}

base::Result<std::vector<std::string>> NetworkTable::sessions_called(const std::string& session) {
  Statement select = TRY(
      file_.database->prepare("SELECT id FROM sessions WHERE name = ?1 AND name IS NOT NULL AND id "
                              "<> ?1 ORDER BY created_at DESC LIMIT ?2"));
  select.bind(session).bind(kRowsAtOnce);
  std::vector<std::string> ids{session};
  while (TRY(select.step())) ids.push_back(select.text());
  return ids;
}

// In the very words of the indexes: each query walks over what it returns.
base::Status NetworkTable::read_newest(const RequestsWanted& wanted,
                                       const std::optional<std::string>& session_id,
                                       std::vector<AuditedRequest>& found) {
  const std::string sql =
      std::string("SELECT " REQUEST_COLUMNS " FROM network_requests WHERE number > ?1") +
      (session_id ? " AND session_id = ?3" : "") +
      (wanted.refused_only ? " AND verdict = 'refused'" : "") + " ORDER BY number DESC LIMIT ?2";
  Statement select = TRY(file_.database->prepare(sql.c_str()));
  select.bind(wanted.after_number).bind(wanted.limit);
  if (session_id) select.bind(*session_id);
  while (TRY(select.step())) found.push_back(audited_request(select));
  return base::done();
}

base::Result<std::vector<AuditedRequest>> NetworkTable::requests(const RequestsWanted& wanted) {
  const std::lock_guard lock(file_.mutex);
  std::vector<AuditedRequest> found;
  if (wanted.session.empty()) {
    TRY(read_newest(wanted, std::nullopt, found));
  } else {
    for (const std::string& id : TRY(sessions_called(wanted.session))) {
      TRY(read_newest(wanted, id, found));
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& one, const auto& other) {
    return one.request.number < other.request.number;
  });
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(wanted.limit, 0));
  if (found.size() > most) {
    found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(most));
  }
  return found;
}

base::Result<std::optional<AuditedRequest>> NetworkTable::request(const std::string& session_id,
                                                                  std::int64_t number) {
  const std::lock_guard lock(file_.mutex);
  Statement select = TRY(file_.database->prepare(
      "SELECT " REQUEST_COLUMNS " FROM network_requests WHERE session_id = ? AND number = ?"));
  select.bind(session_id).bind(number);
  if (!TRY(select.step())) return std::optional<AuditedRequest>();
  return std::optional<AuditedRequest>(audited_request(select));
}

}  // namespace sessions
