// The room that the host's file systems have left for what a session writes. Source: fstatfs(2).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace sandbox::box {

// DiskLimit says which limit a session was ended for: its own, or the room that the host has left.
enum class DiskLimit { kRoomOfHost, kBytes, kFiles, kBytesAndFiles, kNotCounted };

// Returns whether one of the directories lies where nothing can be written any more.
bool no_room_in(std::initializer_list<int> directories);

// Returns how much of a file system the host keeps for itself: 256 MiB, of a small one a twentieth.
std::int64_t floor_bytes(std::int64_t file_system_bytes);

// DiskRoom says what the file systems of a session's directories have left. statfs(2) tells it at
// no cost, however much the session has.
struct DiskRoom {
  std::vector<std::int64_t> free_bytes;  // for each directory; -1 where it does not say
  std::vector<std::int64_t> free_files;
  bool below_floor = false;  // one of them is; false where it does not say
};
DiskRoom measure_room(const std::vector<int>& directories);

// Returns the most that a file system has lost from `before` to `now`: no session has written more
// there.
std::int64_t lost_bytes(const DiskRoom& before, const DiskRoom& now);
std::int64_t lost_files(const DiskRoom& before, const DiskRoom& now);

}  // namespace sandbox::box
