// Into the cgroups of the session, and a cgroup namespace whose root they are. Sources: cgroups(7),
// clone(2) CLONE_INTO_CGROUP, cgroup_namespaces(7).
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/init/report.h"
#include "sandbox/init/steps.h"
#include "sandbox/wire/plan_format.h"

namespace sandbox::init {
namespace {

// "0" means the writer.
void join(int directory, const char* file) {
  const int fd = must(::openat(directory, file, O_WRONLY | O_CLOEXEC), "open", file);
  if (::write(fd, "0", 1) != 1) fail("write", file);
  must(::close(fd), "close", file);
}

}  // namespace

int join_cgroups(const Plan& plan) {
  int directory = -1;
  wire::PlanReader reader(plan.bytes, plan.size);
  wire::PlanRecord record;
  while (reader.next(record)) {
    if (record.op == wire::PlanOp::kCgroup) join(AT_FDCWD, record.fields[0]);
    if (record.op == wire::PlanOp::kCgroup2) {
      directory = must(::open(record.fields[0], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                       "open", record.fields[0]);
    }
  }
  return directory;
}

bool join_before_clone(int directory, int error) {
  // A kernel that does not know CLONE_INTO_CGROUP (before 5.7) gives one of these two errors. Any
  // other error is not about that.
  if (directory < 0 || (error != EINVAL && error != E2BIG)) return false;
  join(directory, "cgroup.procs");
  return true;
}

void enter_cgroup_namespace() { must(::unshare(CLONE_NEWCGROUP), "unshare the cgroup namespace"); }

}  // namespace sandbox::init
