// How much of the processors the cgroup of a live session gets where others want them, too. It is
// set again while the session lives, by whoever knows of all of them; no process moves for it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sandbox {

// What each principal has for its busy sessions together, and what a session begins with. In
// version 1 it lies beside hutch itself and the rest of the host, which come first with 1024; in
// version 2 in a group that has nothing but sessions in it.
inline constexpr std::int64_t kPartVersion1 = 512;
inline constexpr std::int64_t kPartVersion2 = 1000;

struct CgroupWeight {
  int version = 2;
  std::string file;

  // One of so many shares of a principal's part. False when the kernel refuses it.
  [[nodiscard]] bool set(std::int64_t shares) const;
};

// Of all sessions whose cgroup lies near ours and has a weight, by the session's id; those of other
// state directories are among them.
std::map<std::string, CgroupWeight> find_cgroup_weights();

}  // namespace sandbox
