#include "sandbox/cgroup.h"

#include <poll.h>

#include <algorithm>
#include <map>

#include "sandbox/cgroup_directory.h"
#include "sandbox/cgroup_name.h"
#include "sandbox/cgroup_place.h"
#include "sandbox/cgroup_weight.h"
#include "sandbox/enforcement.h"

namespace sandbox {
namespace {

constexpr const char* kWanted[] = {"memory", "pids", "cpu", "freezer"};
constexpr int kFreezeAttempts = 200;
constexpr int kFreezePauseMs = 5;

// Several hierarchies may each hold a part; `controllers` says in which directory.
class RealCgroup : public Cgroup {
 public:
  RealCgroup(std::map<std::string, std::string> controllers, std::map<std::string, int> versions,
             std::vector<std::string> directories, std::string version2_directory)
      : controllers_(std::move(controllers)),
        versions_(std::move(versions)),
        directories_(std::move(directories)),
        version2_directory_(std::move(version2_directory)) {
    if (const std::string* directory = find("memory")) {
      const char* file = is_version2("memory") ? "/memory.events" : "/memory.oom_control";
      oom_kills_ = CgroupCounter(*directory + file, "oom_kill");
    }
    if (const std::string* directory = find("pids")) {
      pids_refused_ = CgroupCounter(*directory + "/pids.events", "max");
    }
  }

  ~RealCgroup() override {
    for (const std::string& directory : directories_) displace_cgroup(directory);
  }

  [[nodiscard]] Entrance entrance() const override {
    Entrance entrance;
    entrance.directory = version2_directory_;
    for (const std::string& directory : directories_) {
      if (directory != version2_directory_) {
        // One thread that moves itself: for "cgroup.procs" the kernel would first wait until no
        // process of the whole machine forks or exits, 7 to 15 ms.
        entrance.join_files.push_back(directory + "/tasks");
      }
    }
    return entrance;
  }

  [[nodiscard]] std::int64_t memory_peak_bytes() const override {
    return number("memory", "/memory.max_usage_in_bytes", "/memory.peak", "");
  }
  [[nodiscard]] std::int64_t memory_bytes() const override {
    return number("memory", "/memory.usage_in_bytes", "/memory.current", "");
  }
  [[nodiscard]] std::int64_t cache_bytes() const override {
    return number("memory", "/memory.stat", "/memory.stat",
                  is_version2("memory") ? "file" : "cache");
  }
  [[nodiscard]] std::int64_t processor_time_us() const override {
    if (is_version2("cpu")) return number("cpu", "", "/cpu.stat", "usage_usec");
    return number("cpu", "/cpuacct.usage", "", "") / 1000;  // where both are one hierarchy
  }
  [[nodiscard]] std::int64_t oom_kills() const override { return oom_kills_.value(); }
  [[nodiscard]] std::int64_t pids_refused() const override { return pids_refused_.value(); }

  bool freeze(bool frozen) override {
    const std::string* directory = find("freezer");
    if (directory == nullptr) return false;
    const bool v2 = versions_.at("freezer") == 2;
    const std::string wanted = v2 ? (frozen ? "1" : "0") : (frozen ? "FROZEN" : "THAWED");
    const std::string file = *directory + (v2 ? "/cgroup.freeze" : "/freezer.state");
    for (int attempt = 0; attempt < kFreezeAttempts; ++attempt) {
      // Version 1 needs the request again when a process forked meanwhile.
      if (attempt % 20 == 0 && !write_cgroup_file(file, wanted)) return false;
      const bool reached =
          v2 ? read_cgroup_number(*directory + "/cgroup.events", "frozen") == (frozen ? 1 : 0)
             : read_cgroup_file(file).value_or("") == wanted + "\n";
      if (reached) return true;
      (void)::poll(nullptr, 0, kFreezePauseMs);
    }
    return false;
  }

  [[nodiscard]] std::string holds_memory() const override { return holder("memory"); }
  [[nodiscard]] std::string holds_processes() const override { return holder("pids"); }
  [[nodiscard]] std::string holds_cpus() const override { return holder("cpu"); }
  [[nodiscard]] std::string holds_freeze() const override { return holder("freezer"); }

 private:
  [[nodiscard]] const std::string* find(const std::string& controller) const {
    const auto found = controllers_.find(controller);
    return found == controllers_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool is_version2(const std::string& controller) const {
    const auto found = versions_.find(controller);
    return found != versions_.end() && found->second == 2;
  }
  [[nodiscard]] std::int64_t number(const std::string& controller, const char* version1_file,
                                    const char* version2_file, const char* key) const {
    const std::string* directory = find(controller);
    if (directory == nullptr) return 0;
    const bool v2 = versions_.at(controller) == 2;
    return read_cgroup_number(*directory + (v2 ? version2_file : version1_file), key);
  }
  [[nodiscard]] std::string holder(const std::string& controller) const {
    if (find(controller) == nullptr) return "";
    return (versions_.at(controller) == 2 ? kCgroup2 : kCgroup1).words;
  }

  std::map<std::string, std::string> controllers_;  // name to directory
  std::map<std::string, int> versions_;
  std::vector<std::string> directories_;
  std::string version2_directory_;  // one of them, or empty
  CgroupCounter oom_kills_;
  CgroupCounter pids_refused_;
};

bool limit_memory(const std::string& directory, int version, const Limits& limits) {
  const std::string bytes = std::to_string(limits.memory_mb << 20);
  if (version == 2) {
    // Swap would only make a run that is over its limit slow instead of ended.
    (void)write_cgroup_file(directory + "/memory.swap.max", "0");
    return write_cgroup_file(directory + "/memory.max", bytes);
  }
  if (!write_cgroup_file(directory + "/memory.limit_in_bytes", bytes)) return false;
  (void)write_cgroup_file(directory + "/memory.memsw.limit_in_bytes", bytes);
  return true;
}

bool limit_cpus(const std::string& directory, int version, const Limits& limits) {
  constexpr std::int64_t kPeriodUs = 100'000;
  const std::string quota = std::to_string(limits.cpus * kPeriodUs);
  const std::string period = std::to_string(kPeriodUs);
  const bool v2 = version == 2;
  (void)CgroupWeight{version, directory + (v2 ? "/cpu.weight" : "/cpu.shares")}.set(1);
  if (v2) return write_cgroup_file(directory + "/cpu.max", quota + " " + period);
  return write_cgroup_file(directory + "/cpu.cfs_period_us", period) &&
         write_cgroup_file(directory + "/cpu.cfs_quota_us", quota);
}

bool apply(const std::string& controller, const std::string& directory, int version,
           const Limits& limits) {
  if (controller == "memory") return limit_memory(directory, version, limits);
  if (controller == "cpu") return limit_cpus(directory, version, limits);
  if (controller == "pids") {
    // hutch-init is one of them, and the user did not ask for it.
    return write_cgroup_file(directory + "/pids.max", std::to_string(limits.processes + 1));
  }
  return controller == "freezer";
}

std::vector<std::string> controllers_of(const CgroupHierarchy& hierarchy,
                                        const std::string& directory) {
  if (hierarchy.version == 1) return hierarchy.controllers;
  auto controllers = read_cgroup_words(directory + "/cgroup.controllers");
  controllers.emplace_back("freezer");  // part of every version 2 cgroup
  return controllers;
}

bool is_useful(const CgroupHierarchy& hierarchy) {
  return hierarchy.version == 2 ||
         std::any_of(std::begin(kWanted), std::end(kWanted), [&hierarchy](const char* wanted) {
           return std::find(hierarchy.controllers.begin(), hierarchy.controllers.end(), wanted) !=
                  hierarchy.controllers.end();
         });
}

}  // namespace

std::unique_ptr<Cgroup> make_cgroup(const std::string& session_directory, const Limits& limits) {
  std::map<std::string, std::string> controllers;
  std::map<std::string, int> versions;
  std::vector<std::string> directories;
  std::string version2_directory;
  const std::string entry = "/" + cgroup_name(session_directory);
  for (const CgroupHierarchy& hierarchy : find_cgroup_hierarchies()) {
    if (controllers.size() == std::size(kWanted)) break;
    if (!is_useful(hierarchy)) continue;
    const std::string directory = place_cgroup(hierarchy, entry);
    if (directory.empty()) continue;
    bool used = false;
    for (const std::string& name : controllers_of(hierarchy, directory)) {
      if (controllers.contains(name) || !apply(name, directory, hierarchy.version, limits))
        continue;
      controllers[name] = directory;
      versions[name] = hierarchy.version;
      used = true;
    }
    if (used && hierarchy.version == 2) version2_directory = directory;
    used ? directories.push_back(directory) : displace_cgroup(directory);
  }
  return std::make_unique<RealCgroup>(std::move(controllers), std::move(versions),
                                      std::move(directories), std::move(version2_directory));
}

void sweep_cgroup(const std::string& session_directory) {
  const std::string name = "/" + cgroup_name(session_directory);
  const std::string former = "/" + former_cgroup_name(session_directory);
  std::vector<std::string> left;
  for (const CgroupHierarchy& hierarchy : find_cgroup_hierarchies()) {
    for (const std::string& parent : cgroup_parents(hierarchy)) {
      left.push_back(parent + name);
      // Made by an older hutch, here or for the session that this one is a copy of.
      if (is_cgroup_of(parent + former, session_directory)) left.push_back(parent + former);
      remove_empty_cgroup(parent + former);
    }
  }
  // All are thawed before the first is ended: in version 1 only one hierarchy has the freezer, and
  // frozen processes leave none of them.
  for (const std::string& directory : left) thaw_cgroup(directory);
  for (const std::string& directory : left) displace_cgroup(directory);
}

}  // namespace sandbox
