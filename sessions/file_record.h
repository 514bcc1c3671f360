// A change of a file, by a run or by a client. Times are milliseconds since the epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sessions {

struct FileRecord {
  std::string session_id;
  std::optional<std::string> run_id;
  std::string path;
  std::string change;
  std::int64_t bytes = 0;
  std::optional<std::string> sha256;
  std::int64_t recorded_at = 0;
};

}  // namespace sessions
