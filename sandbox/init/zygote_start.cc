// hutch-init --zygote SCRIPT LIBRARY DIRECTORY [ENVIRONMENT]: becomes the Python that zygote.cc is
// for, outside of all boxes, in a tree and namespaces of its own (zygote_root.cc).
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "sandbox/init/steps.h"

namespace sandbox::init {
namespace {

// Streams, the server's connection, the zygote's directory, what keeps the environment.
constexpr int kDescriptors = 6;

}  // namespace

int become_zygote(const ZygoteStart& start) {
  const bool plain = start.environment == nullptr;
  if (::syscall(SYS_close_range, kDescriptors - (plain ? 1 : 0), ~0U, 0) != 0 ||
      !have_own_root(start.environment)) {
    std::perror("hutch-init --zygote");
    return 1;
  }
  (void)::umask(022);
  // Python reads these at its start; a fork of it gets its session's variables later. No home:
  // nothing of this user's own is imported. One thread each: none would survive a fork.
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
                                   "MIMALLOC_ARENA_EAGER_COMMIT=0",  // as run_environment.cc has it
                                   nullptr};
  const char* const python = plain ? "/usr/bin/python3" : "/environment/bin/python3";
  const char* const arguments[] = {python, start.script, start.library, start.directory, nullptr};
  (void)::execve(python, const_cast<char**>(arguments), const_cast<char**>(variables));
  std::perror("hutch-init --zygote: start Python");
  return 1;
}

}  // namespace sandbox::init
