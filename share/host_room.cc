#include "share/host_room.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>

namespace share {

using base::Error;

namespace {

constexpr std::int64_t kRoomKeptBytes = std::int64_t{256} << 20;
constexpr std::int64_t kPartKept = 16;  // where the file system is so small

}  // namespace

base::Status check_host_room(const std::string& directory, std::int64_t bytes,
                             const std::string& what) {
  struct statvfs disk {};
  if (::statvfs(directory.c_str(), &disk) != 0) return Error::from_errno("statvfs " + directory);
  const auto bytes_of = [&disk](fsblkcnt_t blocks) {
    return static_cast<std::int64_t>(blocks * disk.f_frsize);
  };
  const std::int64_t kept = std::min(kRoomKeptBytes, bytes_of(disk.f_blocks) / kPartKept);
  if (bytes_of(disk.f_bavail) >= bytes + kept) {
    return base::done();
  }
  return Error{Error::Kind::kLimit, ENOSPC,
               "this host's disk is nearly full: too little room for " + what + " now"};
}

}  // namespace share
