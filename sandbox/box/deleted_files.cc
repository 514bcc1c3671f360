#include "sandbox/box/deleted_files.h"

#include <dirent.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace sandbox::box {
namespace {

constexpr std::int64_t kBlockBytes = 512;  // the unit of st_blocks, see inode(7)
// Tables that a thread's is compared with, of its process. Programs have one: a table that is not
// found to be another's is looked into once more, which costs time and changes nothing.
constexpr std::size_t kOwnersCompared = 8;

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

Directory open_directory(const std::string& path) { return {::opendir(path.c_str()), &::closedir}; }

bool share_descriptors(pid_t one, pid_t other) {
  return ::syscall(SYS_kcmp, one, other, KCMP_FILES, 0, 0) == 0;
}

// The directories of those threads that have a descriptor table of their own, one for each, as far
// as few comparisons tell. The first thread's need not be among them: it can end before the others.
std::vector<std::string> descriptor_tables(pid_t pid, base::WorkBudget& budget) {
  const std::string tasks_path = "/proc/" + std::to_string(pid) + "/task";
  std::vector<std::string> tables;
  std::vector<pid_t> owners;
  const Directory tasks = open_directory(tasks_path);
  while (const dirent* entry = tasks ? ::readdir(tasks.get()) : nullptr) {  // NOLINT: one thread
    if (entry->d_name[0] == '.') continue;
    if (!budget.take()) break;
    const auto thread = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    const bool known = std::any_of(owners.begin(), owners.end(), [thread](pid_t owner) {
      return share_descriptors(owner, thread);
    });
    if (known) continue;
    if (owners.size() < kOwnersCompared) owners.push_back(thread);
    tables.push_back(tasks_path + "/" + entry->d_name);
  }
  return tables;
}

// Not so of a zombie, of what is ending, nor of a first thread that the others have outlived: those
// have no descriptors any more, and are closed to an ordinary user.
bool has_memory(const std::string& thread) {
  std::ifstream status(thread + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmSize:")) return true;
  }
  return false;
}

}  // namespace

DeletedFiles deleted_open_files(const std::vector<pid_t>& pids, base::WorkBudget& budget,
                                const std::stop_token& stop,
                                const std::function<bool(const DeletedFile&)>& is_enough) {
  DeletedFiles found;
  std::set<std::pair<dev_t, ino_t>> seen;
  bool enough = false;
  const auto look_into = [&](const Directory& table) {
    while (const dirent* entry = ::readdir(table.get())) {  // NOLINT: one thread
      if (enough || !budget.take()) return;
      struct stat status {};
      // Follows the link to the open file itself: nothing is opened, so a pipe cannot hold us up.
      if (::fstatat(::dirfd(table.get()), entry->d_name, &status, 0) != 0) continue;
      if (!S_ISREG(status.st_mode) || status.st_nlink != 0) continue;
      if (!seen.insert({status.st_dev, status.st_ino}).second) continue;
      found.files.push_back({status.st_dev, status.st_ino, status.st_blocks * kBlockBytes});
      enough = is_enough && is_enough(found.files.back());
    }
  };
  for (const pid_t pid : pids) {
    bool closed = false;
    for (const std::string& path : descriptor_tables(pid, budget)) {
      if (enough || budget.spent() || stop.stop_requested()) return found;
      errno = 0;
      const Directory table = open_directory(path + "/fd");
      if (table) look_into(table);
      closed = closed || (!table && errno == EACCES && has_memory(path));  // else it has ended
    }
    if (closed) found.closed.push_back(pid);
  }
  return found;
}

}  // namespace sandbox::box
