// What a run changed under /workspace: the tree before and after, by inode change time.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sandbox/base/result.h"
#include "sandbox/run.h"

namespace sandbox::box {

class FileChanges {
 public:
  // `workspace_fd` is borrowed for the life of this object.
  FileChanges(int workspace_fd, std::size_t files_max)
      : workspace_fd_(workspace_fd), files_max_(files_max) {}

  // Remembers the tree as it is.
  void take_snapshot();

  // The kernel's clock for file times, which is coarser than the usual one.
  static std::int64_t file_time_ns();

  // What is different from the last snapshot or changed since `since_ns`, by path; and makes this
  // the new snapshot. At most kChangesMax are returned; `total` counts all.
  std::vector<FileChange> changes_since(std::int64_t since_ns, std::size_t& total);

 private:
  struct Entry {
    std::uint64_t inode;
    std::int64_t change_time_ns;
    std::int64_t bytes;
  };
  using Tree = std::unordered_map<std::string, Entry>;

  [[nodiscard]] Tree walk() const;

  int workspace_fd_;
  std::size_t files_max_;
  Tree tree_;
};

inline constexpr std::size_t kChangesMax = 200;

}  // namespace sandbox::box
