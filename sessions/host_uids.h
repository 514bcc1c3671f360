// The ids on the host that sessions get, one each, where hutch is root. user_namespaces(7).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sessions {

struct HostUidRange {
  std::int64_t first = 0;
  std::int64_t count = 0;

  [[nodiscard]] bool has(std::int64_t id) const { return first <= id && id < first + count; }
};

// Returns the range of a state directory, which is there. Limits, locks and kills are per id, so
// two directories should not give out the same ones: each begins somewhere else among 190 million,
// far from the ids of people and of containers. The one after the range is hutch-egress's.
base::Result<HostUidRange> host_uids_of(const std::string& state_directory);

}  // namespace sessions
