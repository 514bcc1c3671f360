#include "sandbox/cgroup_place.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <string_view>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"

namespace sandbox {
namespace {

constexpr const char* kSessions = "/hutch-sessions";
constexpr const char* kControllers[] = {"memory", "pids", "cpu"};
constexpr int kMoveAttempts = 100;
constexpr int kMovePauseMs = 5;
constexpr int kGroupAttempts = 10;
constexpr std::size_t kComplaintBytesMax = 4096;

std::string parent_of(const std::string& directory) {
  return directory.substr(0, directory.rfind('/'));
}

// Empty at the top of what we see.
std::string above(const CgroupHierarchy& hierarchy) {
  return hierarchy.own_directory == hierarchy.top ? "" : parent_of(hierarchy.own_directory);
}

// The root of all cgroups is the only one without this file, and the only one that may both have
// processes and hand controllers down.
bool is_root(const std::string& directory) {
  return ::access((directory + "/cgroup.type").c_str(), F_OK) != 0;
}

// systemd marks what it has handed over: by itself, and readable for users since version 251.
bool is_delegated(const std::string& directory) {
  char value = 0;
  for (const char* name : {"user.delegate", "trusted.delegate"}) {
    if (::getxattr(directory.c_str(), name, &value, 1) == 1 && value == '1') return true;
  }
  return false;
}

// Nobody but us would notice then that we rearrange it.
bool has_only_hutch(const std::string& directory) {
  const auto programs = base::executable_directory();
  if (!programs.ok()) return false;
  const auto pids = read_cgroup_words(directory + "/cgroup.procs");
  return std::all_of(pids.begin(), pids.end(), [&programs](const std::string& pid) {
    char path[PATH_MAX];
    const ssize_t size = ::readlink(("/proc/" + pid + "/exe").c_str(), path, sizeof path);
    return size > 0 && std::string_view(path, static_cast<std::size_t>(size))
                           .starts_with(programs.value() + "/hutch");
  });
}

// False when a controller that is there could not be handed down. One by one, because the kernel
// takes all of a write or nothing. Never beside processes: the kernel would take some controllers
// and make the children cgroups for threads, which no process may join.
bool hand_down_controllers(const std::string& directory) {
  const bool may = is_root(directory) || read_cgroup_words(directory + "/cgroup.procs").empty();
  const auto available = read_cgroup_words(directory + "/cgroup.controllers");
  const std::string file = directory + "/cgroup.subtree_control";
  const auto enabled = read_cgroup_words(file);
  return std::all_of(std::begin(kControllers), std::end(kControllers), [&](const char* name) {
    return !base::contains(available, name) || base::contains(enabled, name) ||
           (may && write_cgroup_file(file, std::string("+") + name));
  });
}

// Where the service manager has no use for a controller itself, it hands it to nobody.
void hand_down_from_top(const CgroupHierarchy& hierarchy, const std::string& directory) {
  std::string path = hierarchy.top;
  (void)hand_down_controllers(path);
  while (path != directory) {
    const auto slash = directory.find('/', path.size() + 1);
    path = directory.substr(0, slash);
    (void)hand_down_controllers(path);
  }
}

// All of them, whoever's they are: one that stays is enough for the kernel to refuse. They stay in
// the same unit for the service manager, which looks at the path only. Repeated while they fork.
void move_processes_aside(const std::string& directory) {
  const std::string leaf = directory + std::string(kSupervisorCgroup);
  if (::mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) return;
  for (int attempt = 0; attempt < kMoveAttempts; ++attempt) {
    for (const std::string& pid : read_cgroup_words(directory + "/cgroup.procs")) {
      // 0 is a process that our pid namespace does not show, and would mean ourselves.
      if (pid != "0") (void)write_cgroup_file(leaf + "/cgroup.procs", pid);
    }
    if (hand_down_controllers(directory)) return;
    (void)::poll(nullptr, 0, kMovePauseMs);
  }
}

// By letting a short-lived process try. Being able to write the file is not enough: in version 2
// the nearest common ancestor must be ours too, and the cgroup one that processes may be in.
bool can_be_joined(const std::string& directory) {
  const base::UniqueFd procs(
      ::open((directory + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  const base::UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  auto complaint = base::make_pipe();
  if (!procs.valid() || !null.valid() || !complaint.ok()) return false;
  base::SpawnOptions echo;
  echo.arguments = {"/bin/echo", "0"};
  echo.descriptors = {null.get(), procs.get(), complaint.value().write_end.get()};
  const auto pid = base::spawn(echo);
  if (!pid.ok()) return false;
  complaint.value().write_end.reset();
  const auto said = base::read_all(complaint.value().read_end.get(), kComplaintBytesMax);
  // Where SIGCHLD is ignored, as in hutch, there is no status: then what it said must do.
  int status = 0;
  while (::waitpid(pid.value(), &status, 0) < 0 && errno == EINTR) {
  }
  return said.ok() && said.value().empty() && status == 0;
}

// The directory, or empty.
std::string make_in(const CgroupHierarchy& hierarchy, const std::string& parent,
                    const std::string& name) {
  std::string directory = parent + name;
  if (::mkdir(directory.c_str(), 0755) != 0) return "";
  // Only now can the end of another session no longer remove the group that hands them down.
  if (parent.ends_with(kSessions)) hand_down_from_top(hierarchy, parent);
  const bool usable = hierarchy.version == 1
                          ? ::access((directory + "/cgroup.procs").c_str(), W_OK) == 0
                          : can_be_joined(directory);
  if (usable) return directory;
  remove_cgroup(directory);
  return "";
}

// In a group between the two, from which the service manager cannot take back what it hands on.
std::string make_in_group(const CgroupHierarchy& hierarchy, const std::string& base,
                          const std::string& name) {
  const std::string group = base + kSessions;
  std::string directory;
  // Again when the end of another session has just removed the group.
  for (int attempt = 0; attempt < kGroupAttempts && directory.empty(); ++attempt) {
    if (::mkdir(group.c_str(), 0755) != 0 && errno != EEXIST) return "";
    directory = make_in(hierarchy, group, name);
    if (directory.empty() && ::access(group.c_str(), F_OK) == 0) break;
  }
  if (directory.empty()) (void)::rmdir(group.c_str());
  return directory;
}

// The cgroup in which the group of sessions shall lie.
std::string choose_base(const CgroupHierarchy& hierarchy) {
  const std::string& own = hierarchy.own_directory;
  std::string outer = above(hierarchy);
  // Moved aside before, by another box or the server that started us.
  if (!outer.empty() && own.ends_with(kSupervisorCgroup)) return outer;
  if (is_root(own)) return own;
  if (!outer.empty() && !is_delegated(own) && !has_only_hutch(own)) return outer;
  move_processes_aside(own);
  return own;
}

}  // namespace

std::string place_cgroup(const CgroupHierarchy& hierarchy, const std::string& name) {
  for (const std::string& parent : cgroup_parents(hierarchy)) displace_cgroup(parent + name);
  const std::string& own = hierarchy.own_directory;
  if (hierarchy.version == 1) return make_in(hierarchy, own, name);

  if (auto made = make_in_group(hierarchy, choose_base(hierarchy), name); !made.empty())
    return made;
  return make_in(hierarchy, own, name);
}

std::vector<std::string> cgroup_parents(const CgroupHierarchy& hierarchy) {
  std::vector<std::string> parents = {hierarchy.own_directory};
  const std::string outer = above(hierarchy);
  if (hierarchy.version == 2) parents.push_back(hierarchy.own_directory + kSessions);
  if (hierarchy.version == 2 && !outer.empty()) parents.push_back(outer + kSessions);
  return parents;
}

void displace_cgroup(const std::string& directory) {
  end_cgroup(directory);
  const std::string parent = parent_of(directory);
  // Refused while it holds another session.
  if (parent.ends_with(kSessions)) (void)::rmdir(parent.c_str());
}

}  // namespace sandbox
