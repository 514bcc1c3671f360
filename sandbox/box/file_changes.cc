#include "sandbox/box/file_changes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <set>

#include "base/fd.h"
#include "sandbox/files/box_path.h"
#include "sandbox/files/open_in_root.h"
#include "sandbox/session_parts.h"

namespace sandbox::box {
namespace {

// Deeper trees exist only to annoy: what lies below is not reported.
constexpr int kDepthMax = 64;
// All paths together may take this much: what does not fit is not reported either.
constexpr std::size_t kPathBytesMax = 16U << 20;
// Nothing else happens in hutch-box during a walk. Code that moves directories about as they are
// walked would make it meet the same ones again and again.
constexpr std::chrono::seconds kTimeMax{3};
constexpr std::size_t kSeenEachFile = 2;  // files and directories, for each file there may be
constexpr std::size_t kSeenBetweenLooks = 256;

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

struct OpenDirectoryCloser {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using OpenDirectory = std::unique_ptr<DIR, OpenDirectoryCloser>;

OpenDirectory open_directory(int parent_fd, const char* name) {
  const int fd = ::openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return nullptr;
  DIR* directory = ::fdopendir(fd);
  if (directory == nullptr) ::close(fd);
  return OpenDirectory(directory);
}

bool is_dot(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

// The share of its budget that a walk has left.
struct Left {
  std::size_t entries;
  const std::chrono::steady_clock::time_point end = std::chrono::steady_clock::now() + kTimeMax;

  bool take_one() {
    if (entries == 0) return false;
    return --entries % kSeenBetweenLooks != 0 || std::chrono::steady_clock::now() < end;
  }
};

// False when there was enough. `whole` becomes false when something could not be seen.
template <typename Visit>
bool walk_directory(DIR* directory, const std::string& path, int depth, Left& left, bool& whole,
                    const Visit& visit) {
  while (const dirent* entry = ::readdir(directory)) {  // NOLINT: one thread
    if (is_dot(entry->d_name)) continue;
    if (!left.take_one()) return whole = false;
    struct stat status {};
    if (::fstatat(::dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      whole = whole && errno == ENOENT;
      continue;
    }
    const std::string child = path + "/" + entry->d_name;
    if (!S_ISDIR(status.st_mode)) {
      if (!visit(child, status)) return whole = false;
    } else if (depth < kDepthMax) {
      const OpenDirectory below = open_directory(::dirfd(directory), entry->d_name);
      if (below == nullptr) {
        whole = whole && errno == ENOENT;
      } else if (!walk_directory(below.get(), child, depth + 1, left, whole, visit)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

dev_t FileChanges::device() const {
  struct stat status {};
  return ::fstat(workspace_fd_, &status) == 0 ? status.st_dev : 0;
}

std::int64_t FileChanges::file_time_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return nanoseconds(now);
}

FileChanges::Tree FileChanges::walk() const {
  Tree tree;
  std::size_t path_bytes = 0;
  if (const OpenDirectory top = open_directory(workspace_fd_, ".")) {
    Left left{kSeenEachFile * files_max_ + 1};
    (void)walk_directory(top.get(), kWorkspace, 0, left, tree.whole,
                         [&](const std::string& path, const struct stat& s) {
                           tree.entries[path] = {s.st_ino, nanoseconds(s.st_ctim), s.st_size};
                           path_bytes += path.size();
                           return tree.entries.size() < files_max_ && path_bytes < kPathBytesMax;
                         });
  } else {
    tree.whole = false;
  }
  return tree;
}

bool FileChanges::is_gone(const std::string& path) const {
  const std::string below = path.substr(std::string_view(kWorkspace).size());
  return !files::open_without_links(workspace_fd_, below, O_PATH | O_NOFOLLOW).valid() &&
         (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
}

FileChanges::Snapshot FileChanges::take_snapshot() {
  std::erase_if(held_, [](const auto& snapshot) { return snapshot.expired(); });
  if (held_.size() == kSnapshotsMax) return held_.back().lock();
  last_seen_ = std::make_shared<const Tree>(walk());
  held_.push_back(last_seen_);
  return last_seen_;
}

std::vector<FileChange> FileChanges::changes_since(const Snapshot& before, std::int64_t since_ns,
                                                   const Unfinished& unfinished,
                                                   std::size_t& total) {
  const auto now = std::make_shared<const Tree>(walk());
  std::vector<FileChange> changes;
  const auto add = [&](const std::string& path, const char* change, const Entry& entry) {
    const bool is_unfinished =
        entry.change_time_ns >= unfinished.since_ns || unfinished.inodes.contains(entry.inode);
    changes.push_back({files::shown_path(path), change, entry.bytes, is_unfinished});
  };
  std::set<std::uint64_t> moved;  // from paths at which they are not now
  for (const auto& [path, entry] : before->entries) {
    const auto later = now->entries.find(path);
    if (later == now->entries.end() || later->second.inode != entry.inode)
      moved.insert(entry.inode);
  }
  for (const auto& [path, entry] : now->entries) {
    const auto earlier = before->entries.find(path);
    const bool is_new = earlier == before->entries.end();
    // Written through a file tool while no run was there: known to the client, and older. What a
    // folder has that was moved is as old as it was.
    const bool is_moved =
        moved.contains(entry.inode) && (is_new || earlier->second.inode != entry.inode);
    if (entry.change_time_ns < since_ns && !is_moved) continue;
    if (is_new) {
      add(path, "created", entry);
    } else if (entry.change_time_ns != earlier->second.change_time_ns ||
               entry.inode != earlier->second.inode || entry.bytes != earlier->second.bytes) {
      add(path, "modified", entry);
    }
  }
  // Paths that the walk has not come to are asked for one by one, for as long as a walk may take.
  const auto end = std::chrono::steady_clock::now() + kTimeMax;
  for (const auto& [path, entry] : before->entries) {
    if (now->entries.contains(path)) continue;
    if (!now->whole && (std::chrono::steady_clock::now() > end || !is_gone(path))) continue;
    changes.push_back({files::shown_path(path), "deleted", 0});
  }
  last_seen_ = now;
  std::sort(changes.begin(), changes.end(),
            [](const FileChange& a, const FileChange& b) { return a.path < b.path; });
  total = changes.size();
  if (changes.size() > kChangesMax) changes.resize(kChangesMax);
  return changes;
}

}  // namespace sandbox::box
