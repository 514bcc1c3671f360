#include "sandbox/disk_quota.h"

#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "sandbox/session_parts.h"

namespace sandbox {
namespace {

constexpr std::int64_t kMegabyte = 1 << 20;
constexpr std::uint64_t kLeftBytesMin = 64 * 1024;

// quotactl_fd(2) is since Linux 5.14; it needs no device node, only a directory of the file system.
bool quota_call(int directory, int command, std::uint32_t project, void* argument) {
  return ::syscall(SYS_quotactl_fd, directory, static_cast<unsigned>(QCMD(command, PRJQUOTA)),
                   project, argument) == 0;
}

bool set_limits(int directory, std::uint32_t project, std::uint64_t bytes, std::uint64_t files) {
  if_dqblk limits{};
  limits.dqb_bhardlimit = bytes / QIF_DQBLKSIZE;
  limits.dqb_ihardlimit = files;
  limits.dqb_valid = QIF_LIMITS;
  return quota_call(directory, Q_SETQUOTA, project, &limits);
}

bool empty(int directory) {
  const base::UniqueFd again(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  alignas(std::uint64_t) char entries[1024];
  // "." and ".." only: a third would not fit into what these two take.
  const long size = ::syscall(SYS_getdents64, again.get(), entries, sizeof entries);
  constexpr long kTwoEntries = 48;
  return size >= 0 && size <= kTwoEntries;
}

// Everything made below inherits the project. Files that are there already would not be counted.
bool join_project(int directory, std::uint32_t project) {
  fsxattr attributes{};
  if (::ioctl(directory, FS_IOC_FSGETXATTR, &attributes) != 0) return false;
  const bool inherits = (attributes.fsx_xflags & FS_XFLAG_PROJINHERIT) != 0;
  if (attributes.fsx_projid == project && inherits) return true;
  if (!empty(directory)) return false;
  attributes.fsx_projid = project;
  attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
  return ::ioctl(directory, FS_IOC_FSSETXATTR, &attributes) == 0;
}

}  // namespace

std::unique_ptr<DiskQuota> DiskQuota::hold(const std::vector<int>& directories,
                                           std::uint32_t project, const Limits& limits) {
  if (directories.empty()) return nullptr;
  base::UniqueFd file_system(::fcntl(directories[0], F_DUPFD_CLOEXEC, 3));
  if (!file_system.valid()) return nullptr;
  const auto bytes = static_cast<std::uint64_t>(limits.disk_mb * kMegabyte);
  if (!set_limits(file_system.get(), project, bytes, static_cast<std::uint64_t>(limits.files))) {
    return nullptr;
  }
  std::unique_ptr<DiskQuota> quota(new DiskQuota(std::move(file_system), project));
  const bool all = std::all_of(directories.begin(), directories.end(), [project](int directory) {
    return join_project(directory, project);
  });
  return all ? std::move(quota) : nullptr;
}

DiskQuota::~DiskQuota() { (void)set_limits(file_system_.get(), project_, 0, 0); }

bool DiskQuota::used_up() const {
  if_dqblk usage{};
  if (!quota_call(file_system_.get(), Q_GETQUOTA, project_, &usage)) return false;
  return usage.dqb_curinodes >= usage.dqb_ihardlimit ||
         usage.dqb_curspace + kLeftBytesMin > usage.dqb_bhardlimit * QIF_DQBLKSIZE;
}

std::int64_t DiskQuota::used_bytes() const {
  if_dqblk usage{};
  if (!quota_call(file_system_.get(), Q_GETQUOTA, project_, &usage)) return 0;
  return static_cast<std::int64_t>(usage.dqb_curspace);
}

void release_disk_quota(const std::string& session_directory) {
  const base::UniqueFd directory(::open(session_part(session_directory, kWorkspacePart).c_str(),
                                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  fsxattr attributes{};
  if (!directory.valid() || ::ioctl(directory.get(), FS_IOC_FSGETXATTR, &attributes) != 0) return;
  if (attributes.fsx_projid == 0) return;  // it has no session's quota
  (void)set_limits(directory.get(), attributes.fsx_projid, 0, 0);
}

}  // namespace sandbox
