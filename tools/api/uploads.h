// Files on their way into a session in pieces: kept beside the session until they are whole, across
// restarts of this server, and gone with it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/unfinished_uploads.h"

namespace sessions {
class SessionDirectory;
}

namespace tools::api {

// An Upload describes one as it is now, and has it alone as long as it lives: flock(2).
struct Upload {
  std::string id;
  std::string path;  // where it goes, as the code sees it
  std::int64_t length_bytes = 0;
  std::int64_t offset_bytes = 0;  // so many of them are there
  base::UniqueFd data;            // open for reading and writing
};

class Uploads {
 public:
  static constexpr std::size_t kMost = 8;  // in one session

  // Keeps the uploads of the session that has this directory.
  explicit Uploads(const sessions::SessionDirectory& session);

  // Says whether one more has room beside those that are not over. From then on it counts by its
  // description, in the box too.
  using HasRoom = std::function<base::Status(const sandbox::UnfinishedUploads& before)>;
  // Fails with kLimit when kMost are there. One begins after the other, whichever server it came
  // to.
  base::Result<Upload> begin(const std::string& path, std::int64_t length_bytes,
                             const HasRoom& has_room) const;
  // Fails with kNotFound when there is none of this id, with kConflict while somebody else has it.
  [[nodiscard]] base::Result<Upload> take(const std::string& id) const;
  // Adds the bytes behind what is there. kInvalid for more than it is to have.
  static base::Status append(Upload& upload, std::string_view bytes);
  // Calls `put`, which puts a whole upload where it goes. Meanwhile the upload itself does not
  // count to the session's disk, since the file does; afterwards it is gone, or counts again.
  base::Status place(const Upload& upload, const std::function<base::Status()>& put) const;
  void remove(const Upload& upload) const;
  // Removes those that were left, of all sessions that have their directories there: their ids.
  static std::vector<std::string> sweep_all(const std::string& state_directory);

 private:
  [[nodiscard]] std::string place_of(const std::string& id) const;
  void sweep(std::vector<std::string>& removed) const;

  std::string directory_;
};

}  // namespace tools::api
