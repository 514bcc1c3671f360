#include "sandbox/cgroup_weight.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "sandbox/cgroup_directory.h"
#include "sandbox/cgroup_name.h"
#include "sandbox/cgroup_place.h"

namespace sandbox {
namespace {

constexpr std::string_view kPrefix = "hutch-";
// The kernel takes no weights below these.
constexpr std::int64_t kLeastVersion1 = 2;
constexpr std::int64_t kLeastVersion2 = 1;

bool has_weights(const CgroupHierarchy& hierarchy) {
  const auto& names = hierarchy.controllers;
  return hierarchy.version == 2 || std::find(names.begin(), names.end(), "cpu") != names.end();
}

}  // namespace

bool CgroupWeight::set(std::int64_t shares) const {
  const bool v2 = version == 2;
  const std::int64_t weight =
      std::max(v2 ? kLeastVersion2 : kLeastVersion1, (v2 ? kPartVersion2 : kPartVersion1) / shares);
  return write_cgroup_file(file, std::to_string(weight));
}

CgroupWeights cgroup_weights_in(const std::string& parent, int version,
                                const std::string& sessions_directory) {
  CgroupWeights found;
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir(parent.c_str()), &::closedir);
  if (!all) return found;
  while (const dirent* entry = ::readdir(all.get())) {  // NOLINT: a DIR of our own
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kPrefix)) continue;
    const std::string_view behind = name.substr(kPrefix.size());
    const std::string id(behind.substr(0, behind.find('-')));
    // The rest of the name says where its session lies, which may be a copy of ours.
    if (name != cgroup_name(sessions_directory + "/" + id)) continue;
    CgroupWeight weight{version, parent + "/" + std::string(name)};
    weight.file += version == 2 ? "/cpu.weight" : "/cpu.shares";
    if (::access(weight.file.c_str(), W_OK) == 0) found.emplace(id, std::move(weight));
  }
  return found;
}

CgroupWeights find_cgroup_weights(const std::string& sessions_directory) {
  CgroupWeights found;
  for (const CgroupHierarchy& hierarchy : find_cgroup_hierarchies()) {
    if (!has_weights(hierarchy)) continue;
    for (const std::string& parent : cgroup_parents(hierarchy)) {
      found.merge(cgroup_weights_in(parent, hierarchy.version, sessions_directory));
    }
  }
  return found;
}

}  // namespace sandbox
