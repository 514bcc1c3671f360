#include "sandbox/service_cgroup.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "sandbox/cgroup_directory.h"
#include "sandbox/cgroup_place.h"

namespace sandbox {
namespace {

// Hierarchies in which service managers keep who belongs to what, by the controllers in their
// lines: version 2's, and systemd's own beside version 1.
constexpr std::array<std::string_view, 2> kManaged{"", "name=systemd"};

// Returns the path in the hierarchy, without a slash at its end; nothing where it has none. A line
// is "id:controllers:path".
std::optional<std::string> path_in(std::string_view controllers, std::string_view cgroups) {
  for (const std::string_view line : base::split(cgroups, '\n')) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == line.npos || line.substr(first + 1, second - first - 1) != controllers) continue;
    std::string path(line.substr(second + 1));
    if (path.ends_with(kSupervisorCgroup)) path.resize(path.size() - kSupervisorCgroup.size());
    if (path.ends_with('/')) path.pop_back();
    return path;
  }
  return std::nullopt;
}

}  // namespace

bool is_in_cgroup_of(std::string_view ours, std::string_view theirs) {
  return std::all_of(kManaged.begin(), kManaged.end(), [&](std::string_view controllers) {
    const auto our_path = path_in(controllers, ours);
    const auto their_path = path_in(controllers, theirs);
    if (!our_path || !their_path) return !our_path;
    return *their_path == *our_path || their_path->starts_with(*our_path + "/");
  });
}

bool is_in_our_cgroup(pid_t pid) {
  const auto ours = read_cgroup_file("/proc/self/cgroup");
  const auto theirs = read_cgroup_file("/proc/" + std::to_string(pid) + "/cgroup");
  return theirs && is_in_cgroup_of(ours.value_or(""), *theirs);
}

}  // namespace sandbox
