// What changed under /workspace while a run was on: the tree before and after, by inode change
// time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sandbox/base/result.h"
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

  // The tree as it is; the last such one, while kSnapshotsMax of them are held.
  Snapshot take_snapshot();
  // The tree as it was last seen.
  [[nodiscard]] Snapshot last_seen() const { return last_seen_; }

  // Of /workspace.
  [[nodiscard]] dev_t device() const;

  // The kernel's clock for file times, which is coarser than the usual one.
  static std::int64_t file_time_ns();

  // What was being written when the run was stopped or killed: these inodes, and what has changed
  // since then.
  struct Unfinished {
    std::set<std::uint64_t> inodes;
    std::int64_t since_ns = INT64_MAX;
  };

  // What is different from `before` and changed since `since_ns`, by path. At most kChangesMax are
  // returned; `total` counts all.
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
