// The room that the host's file systems have left for what a session writes. Source: fstatfs(2).
#pragma once

#include <cstdint>
#include <initializer_list>

namespace sandbox::box {

// Whether one of the directories lies where nothing can be written any more.
bool no_room_in(std::initializer_list<int> directories);

// What the host keeps for itself: 256 MiB, of a small file system a twentieth.
std::int64_t floor_bytes(std::int64_t file_system_bytes);

// Whether the file system of the directory has less left than its floor. False where it does not
// say.
bool is_below_floor(int directory);

}  // namespace sandbox::box
