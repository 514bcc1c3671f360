// The audit: who has done what to which session. Safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "base/result.h"

namespace sessions {

class Database;
struct StoreFile;

struct AuditEntry {
  std::int64_t at = 0;
  std::string principal_id;
  std::optional<std::string> session_id;
  std::string action;
  base::JsonValue detail = base::JsonValue::object();
};

// Writes a row within the transaction of what it tells of. REQUIRES: the mutex is held.
base::Status write_audit(Database& database, const AuditEntry& entry);

class AuditTable {
 public:
  explicit AuditTable(StoreFile& file) : file_(file) {}

  base::Status add(const AuditEntry& entry);
  // Returns the last ones, the newest last.
  base::Result<std::vector<AuditEntry>> of_session(const std::string& session_id,
                                                   std::int64_t limit);

 private:
  StoreFile& file_;
};

}  // namespace sessions
