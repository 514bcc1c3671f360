// hutch-init --zygote SCRIPT LIBRARY: becomes the Python that zygote.cc is for, on the host.
//
// As root with a mount namespace of its own, in which the programs and libraries that copies go on
// using are read-only: /proc/self/exe of a copy leads there, not into its box. An ordinary user
// cannot have that without a user namespace, from which no box could be entered; there the script
// refuses a Python that the user could change.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <initializer_list>

#include "sandbox/init/steps.h"

namespace sandbox::init {
namespace {

constexpr int kDescriptors = 5;  // streams, the server's connection, the zygote's directory

bool make_read_only(const char* path) {
  struct stat status {};
  if (::lstat(path, &status) != 0 || !S_ISDIR(status.st_mode)) return true;  // not there, or a link
  const int fd = ::open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  return fd >= 0 &&
         ::mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) ==
             0 &&
         ::move_mount(fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == 0;
}

bool have_own_mounts() {
  if (::unshare(CLONE_NEWNS) != 0) return errno == EPERM;  // an ordinary user
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return false;
  for (const char* path : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    if (!make_read_only(path)) return false;
  }
  return true;
}

}  // namespace

int become_zygote(const char* script, const char* library) {
  if (::syscall(SYS_close_range, kDescriptors, ~0U, 0) != 0 || !have_own_mounts() ||
      ::chdir("/") != 0) {
    std::perror("hutch-init --zygote");
    return 1;
  }
  (void)::umask(022);
  // What a session's Python reads at its start, as every session has it. No home: nothing of this
  // user's own is imported. One thread each: none would survive a fork.
  const char* const environment[] = {"PATH=/usr/bin:/bin",
                                     "HOME=/nonexistent",
                                     "LANG=C.UTF-8",
                                     "PYTHONUNBUFFERED=1",
                                     "MPLBACKEND=Agg",
                                     "PYTHONDONTWRITEBYTECODE=1",
                                     "OMP_NUM_THREADS=1",
                                     "OPENBLAS_NUM_THREADS=1",
                                     "MKL_NUM_THREADS=1",
                                     "NUMEXPR_NUM_THREADS=1",
                                     nullptr};
  const char* const arguments[] = {"/usr/bin/python3", script, library, nullptr};
  (void)::execve(arguments[0], const_cast<char**>(arguments), const_cast<char**>(environment));
  std::perror("hutch-init --zygote: start /usr/bin/python3");
  return 1;
}

}  // namespace sandbox::init
