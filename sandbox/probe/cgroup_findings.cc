// Which cgroup controllers we may use, by making an empty cgroup and removing it. cgroups(7).
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/random_id.h"
#include "base/text.h"
#include "sandbox/probe/host.h"

namespace sandbox::probe {

namespace {

// One hierarchy with our own place in it.
struct Hierarchy {
  bool version2 = false;
  std::vector<std::string> controllers;
  std::string directory;
  bool writable = false;
};

const std::vector<std::string>& wanted_controllers() {
  static const std::vector<std::string> kNames = {"memory", "pids", "cpu", "freezer"};
  return kNames;
}

bool can_make_cgroup(const Host& host, const std::string& directory) {
  const std::string trial = host.at(directory) + "/" + base::random_id("hutch-probe-");
  return ::mkdir(trial.c_str(), 0755) == 0 && ::rmdir(trial.c_str()) == 0;
}

std::string directory_of(const Mount& mount, const std::string& path) {
  std::string relative = path;
  if (mount.root != "/" && relative.starts_with(mount.root)) relative.erase(0, mount.root.size());
  return mount.target + (relative == "/" ? "" : relative);
}

// The controllers that ours can have: what is handed down to the highest cgroup from which we may
// hand on ourselves. Beneath it a service manager may have left out what it has no use for.
std::vector<std::string> controllers_within_reach(const Host& host, const Mount& mount,
                                                  const std::string& own) {
  std::string highest = own;
  while (highest != mount.target) {
    const std::string above = highest.substr(0, highest.rfind('/'));
    if (::access((host.at(above) + "/cgroup.subtree_control").c_str(), W_OK) != 0) break;
    highest = above;
  }
  return base::words_of(host.read(highest + "/cgroup.controllers"));
}

Hierarchy look_at(const Host& host, const Mount& mount, std::vector<std::string> controllers,
                  const std::string& path) {
  Hierarchy found;
  found.version2 = mount.type == "cgroup2";
  found.directory = directory_of(mount, path);
  found.controllers = std::move(controllers);
  if (found.version2) {
    found.controllers = controllers_within_reach(host, mount, found.directory);
    // Every cgroup of version 2 but the root can be frozen (Linux 5.2).
    found.controllers.emplace_back("freezer");
  }
  found.writable = can_make_cgroup(host, found.directory);
  return found;
}

std::vector<Hierarchy> hierarchies(const Host& host) {
  std::vector<Hierarchy> found;
  const auto mounts = mounts_of(host);
  for (const std::string& line : host.lines("/proc/self/cgroup")) {
    // "id:controllers:path"; version 2 has the id 0 and no controllers.
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    auto controllers = base::words_of(line.substr(first + 1, second - first - 1), ',');
    const bool version2 = line.starts_with("0::");
    const auto mount = std::find_if(mounts.begin(), mounts.end(), [&](const Mount& candidate) {
      return version2 ? candidate.type == "cgroup2"
                      : candidate.type == "cgroup" && !controllers.empty() &&
                            base::contains(candidate.options, controllers[0]);
    });
    if (mount == mounts.end()) continue;
    Hierarchy one = look_at(host, *mount, std::move(controllers), line.substr(second + 1));
    const bool is_of_use = std::any_of(
        one.controllers.begin(), one.controllers.end(),
        [](const std::string& name) { return base::contains(wanted_controllers(), name); });
    if (is_of_use) found.push_back(std::move(one));
  }
  return found;
}

std::string remedy_for(const Host& host, const std::vector<Hierarchy>& found) {
  // Beside version 1 there may be a version 2 that has the freezer only.
  const bool version2 =
      std::all_of(found.begin(), found.end(), [](const Hierarchy& one) { return one.version2; });
  if (found.empty()) {
    return host.as_root() ? "mount -t cgroup2 none /sys/fs/cgroup"
                          : "mount a cgroup hierarchy; in a container, start it with "
                            "--cgroupns=private and a writable /sys/fs/cgroup";
  }
  if (host.as_root()) return "mount the cgroup hierarchy writable, with these controllers";
  if (!version2) return "boot with systemd.unified_cgroup_hierarchy=1: version 1 is root's only";
  return "have systemd delegate a cgroup: systemd-run --user --scope -p Delegate=yes hutch ...; "
         "if controllers are missing, write [Service] Delegate=cpu memory pids to "
         "/etc/systemd/system/user@.service.d/delegate.conf";
}

// Finds which controllers are mounted, and which of them are ours to use.
Finding cgroups(const Host& host) {
  const auto found = hierarchies(host);
  std::map<std::string, std::string> usable;  // controller to version
  std::vector<std::string> closed;
  for (const Hierarchy& one : found) {
    for (const std::string& controller : one.controllers) {
      if (one.writable && base::contains(wanted_controllers(), controller)) {
        usable.emplace(controller, one.version2 ? "v2" : "v1");
      }
    }
    if (!one.writable) closed.push_back(one.directory);
  }
  std::vector<std::string> have;
  std::vector<std::string> lack;
  for (const std::string& name : wanted_controllers()) {
    const auto one = usable.find(name);
    if (one != usable.end()) have.push_back(name + " (" + one->second + ")");
    if (one == usable.end()) lack.push_back(name);
  }
  if (lack.empty()) return {"cgroups", State::kGood, "may be made: " + base::join(have), ""};
  std::string detail = found.empty() ? "none mounted" : "not usable: " + base::join(lack);
  if (!have.empty()) detail += "; usable: " + base::join(have);
  if (have.empty() && !closed.empty()) detail += "; no cgroup may be made in " + closed.front();
  return {"cgroups", State::kWeaker, detail, remedy_for(host, found)};
}

// Version 1 counts swap only with a boot parameter; version 2 is told to use none.
Finding swap(const Host& host) {
  const auto areas = host.lines("/proc/swaps");
  if (areas.size() < 2) return {"swap", State::kGood, "none: memory limits are sharp", ""};
  for (const Hierarchy& one : hierarchies(host)) {
    if (one.version2 && one.writable && base::contains(one.controllers, "memory")) {
      return {"swap", State::kGood, "on; sessions get none of it", ""};
    }
  }
  return {"swap", State::kWeaker, "on, and nothing keeps a session's memory out of it",
          "swapoff -a, or use cgroup version 2"};
}

}  // namespace

std::vector<Finding> cgroup_findings(const Host& host) { return {cgroups(host), swap(host)}; }

}  // namespace sandbox::probe
