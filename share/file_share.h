// Publishing files out of sessions: a copy that nobody in a box can change any more, and its row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "sessions/share.h"

namespace sessions {
class ShareTable;
class UpkeepTable;
}  // namespace sessions

namespace share {

inline constexpr std::int64_t kShareBytesMax = 100 << 20;
inline constexpr std::int64_t kExpirySecondsMax = 365LL * 86400;

struct PublishRequest {
  std::string session_id;
  std::string principal_id;
  std::string source_path;  // as the code sees it
  std::string filename;     // empty: that of the source
  std::int64_t expires_in_seconds = 7 * 86400;
};

class FileShare {
 public:
  // `directory` is <state>/shared; made when it is not there. Safe from many threads.
  static base::Result<FileShare> open(const std::string& directory, sessions::ShareTable& shares,
                                      sessions::UpkeepTable& upkeep);

  // Copies `source_fd` (borrowed, a regular file open for reading, possibly still being written).
  // The row is written last: a share that is listed has its file, complete. kLimit when larger
  // than kShareBytesMax, where the principal shares too much already (check_share_room()), and
  // where the disk has no room (check_host_room()).
  base::Result<sessions::Share> publish(int source_fd, const PublishRequest& request) const;

  [[nodiscard]] std::string stored_path(const sessions::Share& share) const;
  // Returns its content, open for reading: nobody changes it any more.
  [[nodiscard]] base::Result<base::UniqueFd> open_stored(const sessions::Share& share) const;

  // Ends its links and removes the copy. kNotFound: the principal has no such share.
  base::Status revoke(const std::string& principal_id, const std::string& id) const;

  struct Swept {
    std::vector<sessions::Share> expired;
    std::vector<std::string> orphans;  // names of copies that no share has
  };
  // Removes what has expired, and what was being copied when a server died, and returns it. Not
  // while deletion is held back, see sessions/deletion_hold.h.
  Swept sweep() const;

 private:
  FileShare(std::string directory, sessions::ShareTable& shares, sessions::UpkeepTable& upkeep)
      : directory_(std::move(directory)), shares_(&shares), upkeep_(&upkeep) {}

  [[nodiscard]] base::Status check_room(int source_fd, const std::string& principal_id) const;

  std::string directory_;
  sessions::ShareTable* shares_;
  sessions::UpkeepTable* upkeep_;
};

// Returns a name for the host: the last component of `wanted`, which is UTF-8, without control
// characters, those that turn the direction of writing ("gpj.exe" as "exe.jpg"), a leading "." that
// would hide it or "-" that programs take for an option; at most 200 bytes.
std::string safe_filename(const std::string& wanted);

}  // namespace share
