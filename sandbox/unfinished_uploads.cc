#include "sandbox/unfinished_uploads.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/random_id.h"

namespace sandbox {

namespace {

constexpr std::size_t kDescriptionBytesMax = 64U << 10;

}  // namespace

base::Result<nlohmann::json> upload_description(int uploads_fd, const std::string& name) {
  const base::UniqueFd about = TRY(base::open_file(uploads_fd, name, O_RDONLY | O_NOFOLLOW));
  const std::string text = TRY(base::read_all(about.get(), kDescriptionBytesMax));
  return base::parse_json(text);
}

UnfinishedUploads unfinished_uploads(int uploads_fd) {
  UnfinishedUploads unfinished;
  for (const std::string& name : base::names_in(uploads_fd)) {
    struct stat status {};
    if (!base::is_short_id(name, kUploadPrefix)) continue;
    if (::fstatat(uploads_fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (base::now_ms() / 1000 - status.st_mtime >= kUploadKeptSeconds) continue;
    ++unfinished.count;
    auto told = upload_description(uploads_fd, name + kUploadAbout);
    const bool is_placed = !told.ok();
    if (is_placed) told = upload_description(uploads_fd, name + kUploadPlacing);
    if (!told.ok()) continue;
    const std::int64_t bytes =
        std::max<std::int64_t>(base::integer_or(told.value(), kUploadLength, 0), 0);
    unfinished.bytes += bytes;
    if (is_placed) unfinished.placed_bytes += bytes;
  }
  return unfinished;
}

}  // namespace sandbox
