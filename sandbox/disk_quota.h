// A hard limit on what a session's directories may hold, by the file system itself: a project
// quota. Only root can have one, and only where the file system keeps them (ext4 and XFS mounted
// with prjquota); elsewhere the directories are watched. quotactl(2), ioctl_xfs_fsgetxattr(2).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "sandbox/limits.h"

namespace sandbox {

class DiskQuota {
 public:
  // Returns null where the file system has none, or where something in the directories was written
  // before there was one. `project` must be this session's alone. Descriptors are borrowed.
  static std::unique_ptr<DiskQuota> hold(const std::vector<int>& directories, std::uint32_t project,
                                         const Limits& limits);
  // Lifts the limits. What is there stays counted.
  ~DiskQuota();
  DiskQuota(const DiskQuota&) = delete;
  DiskQuota& operator=(const DiskQuota&) = delete;

  // Returns whether a write would be refused: nothing, or next to nothing, is left.
  [[nodiscard]] bool used_up() const;
  // Returns what it counts; 0 where it does not say.
  [[nodiscard]] std::int64_t used_bytes() const;

 private:
  DiskQuota(base::UniqueFd file_system, std::uint32_t project)
      : file_system_(std::move(file_system)), project_(project) {}

  base::UniqueFd file_system_;
  std::uint32_t project_;
};

// Lifts what the quota of a session held whose box was killed.
void release_disk_quota(const std::string& session_directory);

}  // namespace sandbox
