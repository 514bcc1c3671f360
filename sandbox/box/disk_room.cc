#include "sandbox/box/disk_room.h"

#include <sys/statfs.h>

#include <algorithm>

namespace sandbox::box {
namespace {

constexpr std::int64_t kFloorBytes = 256 << 20;
constexpr std::int64_t kFloorShare = 20;

}  // namespace

bool no_room_in(std::initializer_list<int> directories) {
  return std::any_of(directories.begin(), directories.end(), [](int directory) {
    struct statfs status {};
    if (::fstatfs(directory, &status) != 0) return false;
    return status.f_bavail == 0 || (status.f_files > 0 && status.f_ffree == 0);
  });
}

std::int64_t floor_bytes(std::int64_t file_system_bytes) {
  return std::min(kFloorBytes, file_system_bytes / kFloorShare);
}

bool is_below_floor(int directory) {
  struct statfs status {};
  if (::fstatfs(directory, &status) != 0 || status.f_blocks == 0) return false;
  const auto bytes = [&status](fsblkcnt_t blocks) {
    return static_cast<std::int64_t>(blocks) * status.f_bsize;
  };
  return bytes(status.f_bavail) < floor_bytes(bytes(status.f_blocks));
}

}  // namespace sandbox::box
