// The tree of files that a zygote has: the host's, entry by entry, and the environment at the place
// where boxes have it, which need not exist on the host. Programs and libraries, which its copies
// go on using, are read-only: /proc/self/exe of a copy leads there, not into its box. Sources:
// user_namespaces(7), mount_namespaces(7), open_tree in <linux/mount.h>.
//
// It has no network either: what a package does while it is imported is done without one.
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "sandbox/init/mount_attributes.h"
#include "sandbox/init/steps.h"

namespace sandbox::init {
namespace {

constexpr char kPlace[] = "/environment";  // kEnvironmentPlace of sandbox/environment.h
constexpr char kNewRoot[] = "/tmp";        // hidden in our namespace only
constexpr int kEntriesMax = 256;

struct Entry {
  char name[NAME_MAX + 1];
  int mount_fd;  // -1: a symbolic link to `target`
  char target[PATH_MAX];
};

Entry g_entries[kEntriesMax];
int g_count = 0;

bool holds_programs(const char* name) {
  for (const char* one : {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"}) {
    if (std::strcmp(name, one) == 0) return true;
  }
  return false;
}

constexpr MountAttributes kReadOnly{MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, true,
                                    false};

bool write_text(const char* path, const char* text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  const auto size = static_cast<ssize_t>(std::strlen(text));
  const bool good = fd >= 0 && ::write(fd, text, static_cast<std::size_t>(size)) == size;
  if (fd >= 0) (void)::close(fd);
  return good;
}

// An ordinary user keeps its one id: files and signals are as before.
bool have_own_namespaces() {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  if (uid == 0) return ::unshare(CLONE_NEWNS | CLONE_NEWNET) == 0;
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) != 0) return false;
  char line[64];
  if (!write_text("/proc/self/setgroups", "deny")) return false;
  (void)std::snprintf(line, sizeof line, "%u %u 1", uid, uid);
  if (!write_text("/proc/self/uid_map", line)) return false;
  (void)std::snprintf(line, sizeof line, "%u %u 1", gid, gid);
  return write_text("/proc/self/gid_map", line);
}

// False where the entry cannot be shown; a file at the top is left out.
bool take(const char* name) {
  char path[NAME_MAX + 2];
  (void)std::snprintf(path, sizeof path, "/%s", name);
  struct stat status {};
  if (::lstat(path, &status) != 0 || g_count == kEntriesMax) return false;
  if (!S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode)) return true;
  Entry& entry = g_entries[g_count];
  (void)std::snprintf(entry.name, sizeof entry.name, "%s", name);
  if (S_ISLNK(status.st_mode)) {
    const ssize_t size = ::readlink(path, entry.target, sizeof entry.target - 1);
    if (size < 0) return false;
    entry.target[size] = '\0';
    entry.mount_fd = -1;
  } else {
    entry.mount_fd =
        ::open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (entry.mount_fd < 0) return false;
  }
  ++g_count;
  return true;
}

bool is_left_out(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0 ||
         std::strcmp(name, kPlace + 1) == 0;  // ours stands in its place
}

bool take_all() {
  const int top = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (top < 0) return false;
  alignas(dirent64) static char entries[16 * 1024];
  while (true) {
    const ssize_t size = ::getdents64(top, entries, sizeof entries);
    if (size <= 0) return ::close(top) == 0 && size == 0;
    for (ssize_t at = 0; at < size;) {
      const auto* const one = reinterpret_cast<const dirent64*>(entries + at);
      if (!is_left_out(one->d_name) && !take(one->d_name)) return false;
      at += one->d_reclen;
    }
  }
}

// In the working directory, which is the new root.
bool attach(int mount_fd, const char* name, const MountAttributes& attributes) {
  return ::mkdir(name, 0755) == 0 && attach_mount(mount_fd, AT_FDCWD, name, 0, attributes) == 0 &&
         ::close(mount_fd) == 0;
}

bool attach_all() {
  if (::mount("tmpfs", kNewRoot, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755") != 0 ||
      ::chdir(kNewRoot) != 0) {
    return false;
  }
  for (int i = 0; i < g_count; ++i) {
    const Entry& entry = g_entries[i];
    const MountAttributes attributes = holds_programs(entry.name) ? kReadOnly : MountAttributes{};
    const bool attached = entry.mount_fd >= 0 ? attach(entry.mount_fd, entry.name, attributes)
                                              : ::symlink(entry.target, entry.name) == 0;
    if (!attached) return false;
  }
  return true;
}

}  // namespace

bool have_own_root(const char* environment) {
  if (!have_own_namespaces() || ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    return false;
  }
  int packages = -1;
  if (environment != nullptr) {
    packages = ::open_tree(AT_FDCWD, environment,
                           OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
    if (packages < 0) return false;
  }
  return take_all() && attach_all() && (packages < 0 || attach(packages, kPlace + 1, kReadOnly)) &&
         ::syscall(SYS_pivot_root, ".", ".") == 0 && ::umount2(".", MNT_DETACH) == 0 &&
         ::chdir("/") == 0;
}

}  // namespace sandbox::init
