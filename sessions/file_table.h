// Records of what runs and clients did to files of sessions. Safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "sessions/file_record.h"

namespace sessions {

class Database;
struct StoreFile;

// Writes a row within the transaction of what it tells of. REQUIRES: the mutex is held.
base::Status write_file_record(Database& database, const FileRecord& record);

class FileTable {
 public:
  explicit FileTable(StoreFile& file) : file_(file) {}

  base::Status record(const FileRecord& record);
  // Returns what was done to each path since then: path to created, modified or deleted.
  base::Result<std::map<std::string, std::string>> changes(const std::string& session_id,
                                                           std::int64_t since,
                                                           const std::set<std::string>& paths);
  // Deletes the records of a destroyed session. Takes the mutex again and again, so that others
  // have their turn in between.
  base::Status remove_of(const std::string& session_id);

 private:
  base::Result<std::optional<std::string>> change_of_path(const std::string& session_id,
                                                          const std::string& path,
                                                          std::int64_t since);

  StoreFile& file_;
};

}  // namespace sessions
