#include "sandbox/own_ids.h"

#include <unistd.h>

#include <sstream>

#include "base/fd.h"

namespace sandbox {

bool map_has_ids(const std::string& map, std::int64_t first, std::int64_t count) {
  std::istringstream lines(map);
  std::int64_t inside = 0;
  std::int64_t outside = 0;
  std::int64_t size = 0;
  while (lines >> inside >> outside >> size) {
    if (inside <= first && first + count <= inside + size) return true;
  }
  return false;
}

bool can_give_ids(std::int64_t first, std::int64_t count) {
  return ::geteuid() == 0 && map_has_ids(base::text_of_file("/proc/self/uid_map"), first, count) &&
         map_has_ids(base::text_of_file("/proc/self/gid_map"), first, count);
}

std::int64_t id_outside(const std::string& map, std::int64_t id) {
  std::istringstream lines(map);
  std::int64_t inside = 0;
  std::int64_t outside = 0;
  std::int64_t size = 0;
  while (lines >> inside >> outside >> size) {
    if (inside <= id && id - inside < size) return outside + (id - inside);
  }
  return -1;
}

bool may_be_root_of_host() {
  // The map shows the namespace above and none further up; there only root can become root again.
  return id_outside(base::text_of_file("/proc/self/uid_map"), ::geteuid()) <= 0;
}

}  // namespace sandbox
