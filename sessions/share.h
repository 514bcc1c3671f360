// A file that was shared, as its row tells of it. Times are milliseconds since the epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sessions {

struct Share {
  std::string id;
  std::string session_id;
  std::string principal_id;
  std::string filename;
  std::string source_path;
  std::int64_t bytes = 0;
  std::string sha256;
  std::string mime_type;
  std::int64_t created_at = 0;
  std::optional<std::int64_t> expires_at;
};

// Shared tells how much one principal shares.
struct Shared {
  std::int64_t files = 0;
  std::int64_t bytes = 0;
};

}  // namespace sessions
