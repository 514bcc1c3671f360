// How processes ended that nobody in the box could wait for any more: a later call of bash asks
// (runners/bash/jobs.sh). A file of fixed size that the code can only read.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "sandbox/init/report.h"
#include "sandbox/init/steps.h"

namespace sandbox::init {
namespace {

constexpr const char* kPath = "/run/hutch/ended";
// Enough for what one call can leave and another ask for; more would only be overwritten sooner.
constexpr unsigned kEndingsKept = 512;
constexpr int kLineBytes = 16;  // "PID STATUS", with blanks before, and a line end

int g_file = -1;
unsigned g_count = 0;

}  // namespace

void keep_endings() {
  must(::close(must(::open(kPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444),
                    "make the file of endings", kPath)),
       "close");
  // By a mount of its own, which nobody else has: whoever writes to a mount keeps it from becoming
  // read-only.
  const int mount =
      must(::open_tree(AT_FDCWD, kPath, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC), "open_tree", kPath);
  char path[32];
  (void)std::snprintf(path, sizeof path, "/proc/self/fd/%d", mount);
  g_file = must(::open(path, O_WRONLY | O_CLOEXEC), "open the file of endings", kPath);
  must(::close(mount), "close");
}

void note_ending(pid_t pid, int wait_status) {
  const int code =
      WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  char line[kLineBytes + 1];
  (void)std::snprintf(line, sizeof line, "%11d %3d\n", pid, code);
  // An ending that cannot be written is not known to later calls, which say so.
  (void)!::pwrite(g_file, line, kLineBytes,
                  static_cast<off_t>(g_count++ % kEndingsKept) * kLineBytes);
}

}  // namespace sandbox::init
