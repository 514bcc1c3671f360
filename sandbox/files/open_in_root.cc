#include "sandbox/files/open_in_root.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "sandbox/files/box_path.h"

namespace sandbox::files {

using base::Error;

namespace {

// A rename anywhere on the host makes a walk with ".." in it fail with EAGAIN; an adversary can
// cause that for ever. 128 attempts leave one in a thousand walks unlucky under full attack.
constexpr int kAttempts = 128;
constexpr const char* kNothing = "no such file or directory; list_files shows what is there";
constexpr const char* kOfAMachine =
    "no such file or directory: a session sees nothing of the user's machine but folders that "
    "whoever runs hutch grants (--mount NAME=PATH), at /mnt/NAME";

base::UniqueFd open_resolved(int directory_fd, const std::string& path, int flags,
                             std::uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<__u64>(flags | O_CLOEXEC);
  how.resolve = resolve;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const long fd = ::syscall(SYS_openat2, directory_fd, path.c_str(), &how, sizeof how);
    if (fd >= 0) return base::UniqueFd(static_cast<int>(fd));
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return {};
}

std::string descriptor_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

const char* kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

bool is_of_code(std::string_view path) {
  return path.starts_with("/workspace/") || path.starts_with("/tmp/") ||
         path.starts_with(std::string(kHome) + "/");
}

std::string refusal(const std::string& path, Purpose purpose) {
  if (purpose == Purpose::kWrite && is_of_code(path)) {
    return "permission denied by the mode of the file or its folder, which chmod u+w changes";
  }
  if (purpose == Purpose::kWrite) {
    return "permission denied; writing is possible in /workspace, /home/user and /tmp";
  }
  return "permission denied; the session's code may not read it either, unless it changes the mode";
}

// Homes on macOS, on Linux but for a session's own, and on Windows, and a home's folders that no
// session has.
bool is_of_a_machine(std::string_view path) {
  for (const std::string_view folder : {"/Desktop/", "/Documents/", "/Downloads/"}) {
    const std::size_t home = path.find(folder);
    if (home == std::string_view::npos) continue;
    if (path.substr(0, home) == kHome || path.substr(0, home).ends_with('~')) return true;
  }
  return path.starts_with("/Users/") || path.find(":\\") != std::string_view::npos ||
         (path.starts_with("/home/") && !path.starts_with(kHome));
}

}  // namespace

base::UniqueFd open_in_root(int root_fd, const std::string& path, int flags) {
  return open_resolved(root_fd, path, flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

base::UniqueFd open_without_links(int root_fd, const std::string& path, int flags) {
  return open_resolved(root_fd, path, flags,
                       RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS);
}

base::UniqueFd open_entry(int directory_fd, const std::string& name, int flags, Mounts mounts) {
  std::uint64_t resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  if (mounts == Mounts::kStay) resolve |= RESOLVE_NO_XDEV;
  return open_resolved(directory_fd, name, flags | O_NOFOLLOW, resolve);
}

base::UniqueFd reopen(int path_fd, int flags) {
  return base::UniqueFd(
      ::open(descriptor_path(path_fd).c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

bool change_mode(int path_fd, mode_t mode) {
  return ::chmod(descriptor_path(path_fd).c_str(), mode) == 0;
}

bool is_kernel_filesystem(int fd) {
  constexpr std::array<std::int64_t, 12> kMagics = {
      PROC_SUPER_MAGIC, SYSFS_MAGIC,    CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
      DEBUGFS_MAGIC,    TRACEFS_MAGIC,  SECURITYFS_MAGIC,   BPF_FS_MAGIC,
      NSFS_MAGIC,       PSTOREFS_MAGIC, EFIVARFS_MAGIC,     BINFMTFS_MAGIC};
  struct statfs filesystem {};
  // A file system that cannot be asked is treated as the worst.
  if (::fstatfs(fd, &filesystem) != 0) return true;
  for (const std::int64_t magic : kMagics) {
    if (static_cast<std::int64_t>(filesystem.f_type) == magic) return true;
  }
  return false;
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

FileState state_of(const struct stat& status) {
  constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
  return {status.st_dev, status.st_ino, status.st_size,
          status.st_ctim.tv_sec * kNanosecondsPerSecond + status.st_ctim.tv_nsec};
}

Error path_error(const std::string& path, int failure, Purpose purpose) {
  using ErrorKind = Error::Kind;
  const auto make = [&](ErrorKind kind, const std::string& text) {
    return Error{kind, failure, shown_path(path) + ": " + text};
  };
  switch (failure) {
    case ENOENT: {
      const bool is_elsewhere = is_of_a_machine(shown_path(path));
      Error error = make(ErrorKind::kNotFound, is_elsewhere ? kOfAMachine : kNothing);
      if (is_elsewhere) error.lack = Error::Lack::kHostFolder;
      return error;
    }
    case ENOTDIR:
      return make(ErrorKind::kInvalid, "a part of this path is a file, not a directory");
    case EISDIR:
      return not_regular(path, S_IFDIR, purpose);
    case ELOOP:
    case EXDEV:
      return make(ErrorKind::kInvalid, "goes through a link that cannot be followed");
    case EACCES:
    case EPERM:
      return make(ErrorKind::kInvalid, refusal(path, purpose));
    case EROFS:
      return make(ErrorKind::kInvalid,
                  "is read-only; writing is possible in /workspace, /home/user and /tmp");
    case ENOSPC:
    case EDQUOT:
      return make(ErrorKind::kLimit,
                  "no space left; delete files in /workspace, /home/user or /tmp first");
    case EFBIG:
      return make(ErrorKind::kLimit, "the file would become too large");
    case ENAMETOOLONG:
      return make(ErrorKind::kInvalid,
                  "a name in it is longer than 255 bytes, or all longer than 4095");
    case EAGAIN:
    case ETXTBSY:
    case EBUSY:
    case ESTALE:
      return make(ErrorKind::kUnavailable, "is being changed or in use; try again");
    case ENOSYS:
      return make(ErrorKind::kUnsupported, "this kernel has no openat2 (Linux 5.6 has)");
    default: {
      const char* text = ::strerrordesc_np(failure);
      return make(ErrorKind::kInternal, text != nullptr ? text : "unknown error");
    }
  }
}

Error not_regular(const std::string& path, mode_t mode, Purpose purpose) {
  if (S_ISDIR(mode)) {
    const char* text = purpose == Purpose::kWrite ? ": is a directory; name a file in it"
                                                  : ": is a directory; use list_files";
    return Error{Error::Kind::kInvalid, EISDIR, path + text};
  }
  const char* verb = purpose == Purpose::kWrite ? "write it" : "read it";
  return base::error(
      Error::Kind::kInvalid,
      path + ": is " + kind_of(mode) + ", not a regular file; " + verb + " with run_code instead");
}

Error of_the_kernel(const std::string& path, Purpose purpose) {
  const char* verb = purpose == Purpose::kWrite  ? "write it"
                     : purpose == Purpose::kList ? "list it"
                                                 : "read it";
  return base::error(Error::Kind::kInvalid, path + ": belongs to the kernel (/proc, /sys); " +
                                                verb + " with run_code instead");
}

}  // namespace sandbox::files
