// Requests of sessions to the network, what they have moved, and rules that single sessions were
// given. Safe from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/network_journal.h"

namespace sessions {

struct StoreFile;

struct AuditedRequest {
  std::string session_id;
  sandbox::NetworkRequest request;
};

// So many requests of all sessions together are kept.
inline constexpr std::int64_t kNetworkRequestsMost = 200'000;

// Says which of them; the newest, when there are more.
struct RequestsWanted {
  std::string session;  // id or name; empty: of all
  bool refused_only = false;
  std::int64_t after_number = 0;
  std::int64_t limit = 100;
};

class NetworkTable {
 public:
  explicit NetworkTable(StoreFile& file) : file_(file) {}

  // Returns rules that the operator has given one session besides; and gives it, or takes back.
  // Nothing is given to a destroyed session.
  base::Result<std::vector<std::string>> grants(const std::string& session_id);
  base::Status set_grant(const std::string& session_id, const std::string& rule, bool is_granted,
                         std::int64_t now_ms);
  // Returns how far the journal of the session was taken over: after which of its lines.
  base::Result<std::int64_t> journal_taken(const std::string& session_id);
  // Takes over the entries that follow `after`; returns false when another server has done so
  // meanwhile. Beyond the bound of all requests, the oldest of the principal who has the most
  // make way.
  base::Result<bool> take_journal(const std::string& session_id, std::int64_t after,
                                  const std::vector<sandbox::JournalEntry>& entries,
                                  std::int64_t requests_most = kNetworkRequestsMost);
  // Nobody will tell of their end.
  base::Status end_requests(const std::string& session_id);
  // Returns what one session has sent and received, as far as its journal was taken over.
  base::Result<std::int64_t> bytes(const std::string& session_id);
  // Returns what all sessions of a principal have on one day (utc_day_of()).
  base::Result<std::int64_t> bytes_on(const std::string& principal_id, std::int64_t day);
  // Returns the oldest first.
  base::Result<std::vector<AuditedRequest>> requests(const RequestsWanted& wanted);
  base::Result<std::optional<AuditedRequest>> request(const std::string& session_id,
                                                      std::int64_t number);
  // Returns how many have made way, since ever.
  base::Result<std::int64_t> requests_gone();

 private:
  // Callers hold the mutex.
  base::Result<std::int64_t> find_taken(const std::string& session_id);
  base::Result<std::string> principal_of(const std::string& session_id);
  base::Result<bool> insert_request(const std::string& session_id, const std::string& principal_id,
                                    const sandbox::NetworkRequest& request);
  base::Status update_request(const std::string& session_id,
                              const sandbox::NetworkRequest& request);
  base::Status count_requests(const std::string& share, std::int64_t more, std::int64_t gone);
  // Drops requests of whoever has the most of them, down to the next one's number. Returns how
  // many.
  base::Result<std::int64_t> drop_oldest_requests(std::int64_t requests_most);
  base::Result<std::int64_t> requests_of_all();
  base::Status count_bytes(const std::string& session_id, const std::string& principal_id,
                           std::int64_t day, std::int64_t bytes);

  // Returns the session of that id, and the newest of that name, be they deleted or not.
  base::Result<std::vector<std::string>> sessions_called(const std::string& session);
  base::Status read_newest(const RequestsWanted& wanted,
                           const std::optional<std::string>& session_id,
                           std::vector<AuditedRequest>& found);
  void tell_gone(std::int64_t gone, std::int64_t requests_most);

  StoreFile& file_;
  std::int64_t untold_ = 0;  // that have made way since told_at_
  std::optional<std::chrono::steady_clock::time_point> told_at_;
};

}  // namespace sessions
