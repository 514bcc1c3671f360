// Tells what changed under /workspace while a run was on: compares the tree before and after, by
// inode change time, inode number and size.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "sandbox/run.h"

namespace sandbox::box {

class FileChanges {
 public:
  struct Entry {
    std::uint64_t inode;
    std::int64_t change_time_ns;
    std::int64_t bytes;
  };
  struct Tree {
    std::unordered_map<std::string, Entry> entries;
    bool whole = true;  // else there may be more than was seen
  };
  using Snapshot = std::shared_ptr<const Tree>;

  // `workspace_fd` is borrowed for the life of this object.
  FileChanges(int workspace_fd, std::size_t files_max)
      : workspace_fd_(workspace_fd), files_max_(files_max) {}

  // Returns the tree as it is; while kSnapshotsMax snapshots are held, the last one of them
  // instead.
  Snapshot take_snapshot();
  // Returns the tree as it was last seen.
  [[nodiscard]] Snapshot last_seen() const { return last_seen_; }

  // Returns the device that /workspace is on, 0 when that cannot be told.
  [[nodiscard]] dev_t device() const;

  // Returns the time by the kernel's clock for file times, which is coarser than the usual one.
  static std::int64_t file_time_ns();

  // These files were being written when the run was stopped or killed: those with these inodes, and
  // those that have changed since `since_ns`.
  struct Unfinished {
    std::set<std::uint64_t> inodes;
    std::int64_t since_ns = INT64_MAX;
  };

  // Returns what is different from `before` and changed since `since_ns`, or is gone, in the order
  // of paths. At most kChangesMax are returned; `total` counts all.
  std::vector<FileChange> changes_since(const Snapshot& before, std::int64_t since_ns,
                                        const Unfinished& unfinished, std::size_t& total);

 private:
  [[nodiscard]] Tree walk() const;
  [[nodiscard]] bool is_gone(const std::string& path) const;

  int workspace_fd_;
  std::size_t files_max_;
  Snapshot last_seen_ = std::make_shared<const Tree>();
  std::vector<std::weak_ptr<const Tree>> held_;
};

inline constexpr std::size_t kChangesMax = 200;
inline constexpr std::size_t kSnapshotsMax = 4;

}  // namespace sandbox::box
