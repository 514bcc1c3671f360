// Sets how much of the processors the cgroup of a live session gets where others want them, too. It
// is set again while the session lives, by whoever knows of all of them; no process moves for it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sandbox {

// Each principal has this weight for its busy sessions together, and a session begins with it. In
// version 1 it lies beside hutch itself and the rest of the host, which come first with 1024; in
// version 2 in a group that has nothing but sessions in it.
inline constexpr std::int64_t kPartVersion1 = 512;
inline constexpr std::int64_t kPartVersion2 = 1000;

struct CgroupWeight {
  int version = 2;
  std::string file;

  // Sets the weight to one of `shares` shares of a principal's part. Returns false when the kernel
  // refuses it.
  [[nodiscard]] bool set(std::int64_t shares) const;
};

// Maps a session's id to its weight.
using CgroupWeights = std::map<std::string, CgroupWeight>;

// Returns the weights of those sessions in `sessions_directory` whose cgroup lies near ours and has
// one. Those of a copy of it, which have the same ids, are not among them.
CgroupWeights find_cgroup_weights(const std::string& sessions_directory);

// Returns those among the cgroups in `parent`.
CgroupWeights cgroup_weights_in(const std::string& parent, int version,
                                const std::string& sessions_directory);

}  // namespace sandbox
