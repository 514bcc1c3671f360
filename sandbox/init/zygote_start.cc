// hutch-init --zygote SCRIPT LIBRARY DIRECTORY [ENVIRONMENT]: becomes the Python that zygote.cc is
// for, on the host, or with an environment in a tree of its own (zygote_root.cc).
//
// As root with a mount namespace of its own, in which the programs and libraries that copies go on
// using are read-only: /proc/self/exe of a copy leads there, not into its box. An ordinary user
// has that with an environment only; else the script refuses a Python that the user could change.
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

// Streams, the server's connection, the zygote's directory, what keeps the environment.
constexpr int kDescriptors = 6;

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

int become_zygote(const ZygoteStart& start) {
  const bool plain = start.environment == nullptr;
  if (::syscall(SYS_close_range, kDescriptors - (plain ? 1 : 0), ~0U, 0) != 0 ||
      !(plain ? have_own_mounts() : have_own_root(start.environment)) || ::chdir("/") != 0) {
    std::perror("hutch-init --zygote");
    return 1;
  }
  (void)::umask(022);
  // What a session's Python reads at its start, as every session has it. No home: nothing of this
  // user's own is imported. One thread each: none would survive a fork.
  const char* const variables[] = {"PATH=/usr/bin:/bin",
                                     "HOME=/nonexistent",
                                     "LANG=C.UTF-8",
                                     "PYTHONUNBUFFERED=1",
                                     "MPLBACKEND=Agg",
                                     "PYTHONDONTWRITEBYTECODE=1",
                                     "OMP_NUM_THREADS=1",
                                     "OPENBLAS_NUM_THREADS=1",
                                     "MKL_NUM_THREADS=1",
                                     "NUMEXPR_NUM_THREADS=1",
                                     "JE_ARROW_MALLOC_CONF=background_thread:false",
                                     nullptr};
  const char* const python = plain ? "/usr/bin/python3" : "/environment/bin/python3";
  const char* const arguments[] = {python, start.script, start.library, start.directory, nullptr};
  (void)::execve(python, const_cast<char**>(arguments), const_cast<char**>(variables));
  std::perror("hutch-init --zygote: start Python");
  return 1;
}

}  // namespace sandbox::init
