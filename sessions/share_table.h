// Rows of shared files. Safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sessions/share.h"

namespace sessions {

struct StoreFile;

class ShareTable {
 public:
  explicit ShareTable(StoreFile& file) : file_(file) {}

  base::Status insert(const Share& share);
  base::Result<Share> find(const std::string& principal_id, const std::string& id);
  // Finds it for whoever has the id, which nobody can guess: a link.
  base::Result<Share> find_linked(const std::string& id);
  // Returns the newest of them, the oldest of these first.
  base::Result<std::vector<Share>> list(const std::string& principal_id);
  base::Result<std::vector<Share>> of_session(const std::string& session_id);
  // Returns how much the principal shares, expired files that are still there too. Looks at
  // `files_max` of them.
  base::Result<Shared> shared_by(const std::string& principal_id, std::int64_t files_max);
  base::Result<bool> exists(const std::string& id);
  // Returns not more than the next thousand.
  base::Result<std::vector<Share>> expired(std::int64_t now);
  // Deletes one whose time is over.
  base::Status remove(const Share& share);
  // Takes back a share of its principal. kNotFound as find().
  base::Status revoke(const std::string& principal_id, const std::string& id);

 private:
  StoreFile& file_;
};

}  // namespace sessions
