#include "share/share_room.h"

#include <string>

namespace share {

namespace {

constexpr const char* kHowToMakeRoom =
    ": `hutch share rm` takes one back, and each goes when its time is over "
    "(expires_in_seconds)";

std::string megabytes(std::int64_t bytes) { return std::to_string(bytes >> 20) + " MB"; }

base::Error refused(const std::string& why) {
  return base::error(base::Error::Kind::kLimit, why + kHowToMakeRoom);
}

}  // namespace

base::Status check_share_room(const sessions::Shared& shared, std::int64_t bytes,
                              std::int64_t disk_bytes) {
  if (shared.files >= kSharesMax) {
    return refused(std::to_string(kSharesMax) +
                   " files are shared already, the most that one may share");
  }
  const std::int64_t most = disk_bytes / kPartOfDisk;
  if (shared.bytes + bytes <= most) return base::done();
  return refused("shared files would take " + megabytes(shared.bytes + bytes) + ", and " +
                 megabytes(most) + ", a tenth of the disk, is the most that one may share");
}

}  // namespace share
