#include "sandbox/box/disk_room.h"

#include <sys/statfs.h>

#include <algorithm>

namespace sandbox::box {
namespace {

constexpr std::int64_t kFloorBytes = 256 << 20;
constexpr std::int64_t kFloorShare = 20;

std::int64_t most_lost(const std::vector<std::int64_t>& before,
                       const std::vector<std::int64_t>& now) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    if (before[i] >= 0 && now[i] >= 0) most = std::max(most, before[i] - now[i]);
  }
  return most;
}

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

DiskRoom measure_room(const std::vector<int>& directories) {
  DiskRoom room;
  for (const int directory : directories) {
    struct statfs status {};
    const bool told = ::fstatfs(directory, &status) == 0 && status.f_blocks > 0;
    const auto bytes = [&status](fsblkcnt_t blocks) {
      return static_cast<std::int64_t>(blocks) * status.f_bsize;
    };
    const std::int64_t left = told ? bytes(status.f_bavail) : -1;
    room.free_bytes.push_back(left);
    room.free_files.push_back(told && status.f_files > 0 ? static_cast<std::int64_t>(status.f_ffree)
                                                         : -1);
    room.below_floor = room.below_floor || (told && left < floor_bytes(bytes(status.f_blocks)));
  }
  return room;
}

std::int64_t lost_bytes(const DiskRoom& before, const DiskRoom& now) {
  return most_lost(before.free_bytes, now.free_bytes);
}

std::int64_t lost_files(const DiskRoom& before, const DiskRoom& now) {
  return most_lost(before.free_files, now.free_files);
}

}  // namespace sandbox::box
