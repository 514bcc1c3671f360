#include "sandbox/cgroup_weight.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "sandbox/cgroup_directory.h"
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

std::map<std::string, CgroupWeight> find_cgroup_weights() {
  std::map<std::string, CgroupWeight> found;
  for (const CgroupHierarchy& hierarchy : find_cgroup_hierarchies()) {
    if (!has_weights(hierarchy)) continue;
    for (const std::string& parent : cgroup_parents(hierarchy)) {
      const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir(parent.c_str()), &::closedir);
      if (!all) continue;
      while (const dirent* entry = ::readdir(all.get())) {  // NOLINT: a DIR of our own
        const std::string_view name = entry->d_name;
        if (!name.starts_with(kPrefix)) continue;
        // Whatever follows the id says where its session lies.
        const std::string_view id =
            name.substr(kPrefix.size()).substr(0, name.find('-', kPrefix.size()) - kPrefix.size());
        CgroupWeight weight{hierarchy.version, parent + "/" + std::string(name)};
        weight.file += hierarchy.version == 2 ? "/cpu.weight" : "/cpu.shares";
        if (::access(weight.file.c_str(), W_OK) == 0) found.emplace(id, std::move(weight));
      }
    }
  }
  return found;
}

}  // namespace sandbox
