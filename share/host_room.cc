#include "share/host_room.h"

#include <sys/statvfs.h>

#include <cerrno>

namespace share {

using base::Error;

namespace {

constexpr std::int64_t kRoomKeptBytes = std::int64_t{256} << 20;

}  // namespace

base::Status check_host_room(const std::string& directory, std::int64_t bytes,
                             const std::string& what) {
  struct statvfs disk {};
  if (::statvfs(directory.c_str(), &disk) != 0) return Error::from_errno("statvfs " + directory);
  if (static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize) >= bytes + kRoomKeptBytes) {
    return base::done();
  }
  return Error{Error::Kind::kLimit, ENOSPC, "this host has too little room for " + what + " now"};
}

}  // namespace share
