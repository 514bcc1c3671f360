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
#include "sessions/session_directory.h"

namespace tools::api {

// As it is now. It is this one's alone as long as it lives: flock(2).
struct Upload {
  std::string id;
  std::string path;  // where it goes, as the code sees it
  std::int64_t length_bytes = 0;
  std::int64_t offset_bytes = 0;  // of them are there
  base::UniqueFd data;            // open for reading and writing
};

class Uploads {
 public:
  static constexpr std::size_t kMost = 8;               // of a session
  static constexpr std::int64_t kKeptSeconds = 86'400;  // since the last piece

  // Keeps the uploads of the session that has this directory.
  explicit Uploads(const sessions::SessionDirectory& session) : directory_(session.uploads()) {}

  // Says whether so many bytes have room, of all that are not over and of the one that begins.
  using RoomFor = std::function<base::Status(std::int64_t bytes)>;
  // kLimit: kMost are there. One begins after the other, whichever server it came to.
  base::Result<Upload> begin(const std::string& path, std::int64_t length_bytes,
                             const RoomFor& room_for) const;
  // kNotFound; kConflict while somebody else has it.
  [[nodiscard]] base::Result<Upload> take(const std::string& id) const;
  // Behind what is there. kInvalid for more than it is to have.
  static base::Status append(Upload& upload, std::string_view bytes);
  void remove(const Upload& upload) const;
  // Removes those that were left, of all sessions that have their directories there: their ids.
  static std::vector<std::string> sweep_all(const std::string& state_directory);

 private:
  [[nodiscard]] std::string place_of(const std::string& id) const;
  struct Unfinished {
    std::size_t count = 0;
    std::int64_t bytes = 0;  // as many as they are to have
  };
  [[nodiscard]] Unfinished unfinished() const;
  void sweep(std::vector<std::string>& removed) const;

  std::string directory_;
};

}  // namespace tools::api
