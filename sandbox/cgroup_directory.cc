#include "sandbox/cgroup_directory.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/fd.h"
#include "base/text.h"

namespace sandbox {
namespace {

constexpr int kRemoveAttempts = 100;
constexpr int kRemovePauseMs = 10;
constexpr std::size_t kCounterBytesMax = 1024;

struct Mount {
  std::string root;  // which directory of the hierarchy is mounted
  std::string target;
  std::string type;  // cgroup or cgroup2
  std::vector<std::string> options;
};

// proc_pid_mountinfo(5): "id parent major:minor root target options - type source superoptions".
std::vector<Mount> cgroup_mounts() {
  std::vector<Mount> mounts;
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const auto fields = base::split(line, ' ');  // the source may be empty
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || fields.end() - dash < 4) continue;
    const std::string type(*(dash + 1));
    if (type != "cgroup" && type != "cgroup2") continue;
    mounts.push_back(
        {std::string(fields[3]), std::string(fields[4]), type, base::words_of(*(dash + 3), ',')});
  }
  return mounts;
}

// `path` of /proc/self/cgroup as seen below the mount; nothing when it lies outside of it.
std::optional<std::string> below(const Mount& mount, const std::string& path) {
  std::string relative = path == "/" ? "" : path;
  if (mount.root != "/" && (path == mount.root || path.starts_with(mount.root + "/"))) {
    relative.erase(0, mount.root.size());
  }
  // Outside of our cgroup namespace: "/../name".
  if (relative.starts_with("/..")) return std::nullopt;
  return mount.target + relative;
}

bool pause_ms(int milliseconds) { return ::poll(nullptr, 0, milliseconds) == 0; }

void kill_one_by_one(const std::string& directory) {
  (void)write_cgroup_file(directory + "/cgroup.freeze", "0");
  for (const std::string& word : read_cgroup_words(directory + "/cgroup.procs")) {
    const int pid = base::number_of<int>(word).value_or(0);
    if (pid > 1) (void)::kill(pid, SIGKILL);
  }
}

std::int64_t number_in(const std::string& content, const std::string& key) {
  for (const std::string& line : base::words_of(content, '\n')) {
    if (!key.empty() && !line.starts_with(key + " ")) continue;
    return base::number_of<std::int64_t>(line.substr(key.empty() ? 0 : key.size() + 1)).value_or(0);
  }
  return 0;
}

}  // namespace

std::vector<CgroupHierarchy> find_cgroup_hierarchies() {
  std::vector<CgroupHierarchy> found;
  const auto mounts = cgroup_mounts();
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    // "id:controllers:path"; the id of version 2 is 0 and its controllers are empty.
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = base::words_of(line.substr(first + 1, second - first - 1), ',');
    const bool version2 = line.starts_with("0::");
    for (const Mount& mount : mounts) {
      const bool same = version2 ? mount.type == "cgroup2"
                                 : mount.type == "cgroup" && !controllers.empty() &&
                                       std::find(mount.options.begin(), mount.options.end(),
                                                 controllers[0]) != mount.options.end();
      if (!same) continue;
      if (auto own = below(mount, line.substr(second + 1))) {
        found.push_back({version2 ? 2 : 1, controllers, *std::move(own), mount.target});
      }
      break;
    }
  }
  return found;
}

bool write_cgroup_file(const std::string& path, const std::string& value) {
  const base::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.valid() &&
         ::write(fd.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
}

std::optional<std::string> read_cgroup_file(const std::string& path) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  auto content = base::read_all(fd.get(), 1 << 20);
  if (!content.ok()) return std::nullopt;
  return std::move(content).value();
}

std::int64_t read_cgroup_number(const std::string& path, const std::string& key) {
  return number_in(read_cgroup_file(path).value_or(""), key);
}

CgroupCounter::CgroupCounter(const std::string& path, std::string key)
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), key_(std::move(key)) {}

std::int64_t CgroupCounter::value() const {
  // The kernel writes the file anew for a reading that begins at its start, and gives all of it at
  // once.
  std::string content(kCounterBytesMax, '\0');
  const ssize_t got = ::pread(file_.get(), content.data(), content.size(), 0);
  content.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return number_in(content, key_);
}

std::vector<std::string> read_cgroup_words(const std::string& path) {
  std::vector<std::string> words;
  std::istringstream stream(read_cgroup_file(path).value_or(""));
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void remove_cgroup(const std::string& directory) {
  for (int attempt = 0; attempt < kRemoveAttempts; ++attempt) {
    if (::rmdir(directory.c_str()) == 0 || errno != EBUSY) return;
    if (!pause_ms(kRemovePauseMs)) return;
  }
}

void remove_empty_cgroup(const std::string& directory) { (void)::rmdir(directory.c_str()); }

void thaw_cgroup(const std::string& directory) {
  (void)write_cgroup_file(directory + "/freezer.state", "THAWED");
}

void end_cgroup(const std::string& directory) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) return;
  thaw_cgroup(directory);
  // In one step, frozen ones too, and none can fork its way out (version 2, Linux 5.14).
  if (!write_cgroup_file(directory + "/cgroup.kill", "1")) kill_one_by_one(directory);
  remove_cgroup(directory);
}

}  // namespace sandbox
