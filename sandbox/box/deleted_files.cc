#include "sandbox/box/deleted_files.h"

#include <dirent.h>
#include <sys/stat.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

namespace sandbox::box {
namespace {

constexpr std::int64_t kBlockBytes = 512;  // of st_blocks, see inode(7)

}  // namespace

std::vector<DeletedFile> deleted_open_files(const std::vector<pid_t>& pids,
                                            const std::stop_token& stop) {
  std::vector<DeletedFile> found;
  std::set<std::pair<dev_t, ino_t>> seen;
  for (const pid_t pid : pids) {
    if (stop.stop_requested()) break;
    const std::string path = "/proc/" + std::to_string(pid) + "/fd";
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
    if (!directory) continue;                                   // it has ended
    while (const dirent* entry = ::readdir(directory.get())) {  // NOLINT: one thread
      struct stat status {};
      // Follows the link to the open file itself: nothing is opened, so a pipe cannot hold us up.
      if (::fstatat(::dirfd(directory.get()), entry->d_name, &status, 0) != 0) continue;
      if (!S_ISREG(status.st_mode) || status.st_nlink != 0) continue;
      if (!seen.insert({status.st_dev, status.st_ino}).second) continue;
      found.push_back({status.st_dev, status.st_ino, status.st_blocks * kBlockBytes});
    }
  }
  return found;
}

}  // namespace sandbox::box
