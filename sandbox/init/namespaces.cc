// The outside half: clone3 into the session's cgroup and the namespaces, id maps. Sources:
// clone(2), user_namespaces(7) "Defining user and group ID mappings".
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "sandbox/init/report.h"
#include "sandbox/init/steps.h"
#include "sandbox/wire/plan_format.h"

namespace sandbox::init {
namespace {

void write_file(const char* path, const char* text) {
  const int fd = must(::open(path, O_WRONLY | O_CLOEXEC), "open", path);
  const auto size = static_cast<ssize_t>(std::strlen(text));
  if (::write(fd, text, static_cast<std::size_t>(size)) != size) fail("write", path);
  must(::close(fd), "close", path);
}

void write_id_maps(const Plan& plan, int pid) {
  wire::PlanReader reader(plan.bytes, plan.size);
  wire::PlanRecord record;
  while (reader.next(record)) {
    if (record.op != wire::PlanOp::kIdMap) continue;
    char path[64];
    char line[64];
    if (std::strcmp(record.fields[3], "1") == 0) {
      // An ordinary user may write a gid map only after giving up setgroups().
      (void)std::snprintf(path, sizeof path, "/proc/%d/setgroups", pid);
      write_file(path, "deny");
    }
    (void)std::snprintf(path, sizeof path, "/proc/%d/uid_map", pid);
    (void)std::snprintf(line, sizeof line, "%s %s 1", record.fields[0], record.fields[1]);
    write_file(path, line);
    (void)std::snprintf(path, sizeof path, "/proc/%d/gid_map", pid);
    (void)std::snprintf(line, sizeof line, "%s %s 1", record.fields[0], record.fields[2]);
    write_file(path, line);
  }
}

void announce_clone(int pidfd, int pid) {
  wire::InitHead head;
  head.type = wire::InitMessage::kClone;
  head.pid = pid;
  // Without it hutch-box could not end the clone.
  must(send_to_box(head, pidfd, nullptr), "announce the clone");
}

}  // namespace

void clone_into_namespaces(const Plan& plan, int cgroup_directory) {
  int go[2];
  must(::pipe2(go, O_CLOEXEC), "pipe2");

  int pidfd = -1;
  clone_args arguments{};
  // CLONE_PARENT makes the clone a child of hutch-box. With it, exit_signal must be 0 (clone(2)).
  // Not CLONE_NEWCGROUP: the root of that would be the cgroup of the caller, not of the clone.
  arguments.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                    CLONE_NEWUTS | CLONE_PARENT | CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
  if (cgroup_directory >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<std::uint64_t>(cgroup_directory);
  }
  auto pid = static_cast<int>(::syscall(SYS_clone3, &arguments, sizeof arguments));
  if (pid < 0 && join_before_clone(cgroup_directory, errno)) {
    arguments.flags &= ~static_cast<std::uint64_t>(CLONE_INTO_CGROUP);
    arguments.cgroup = 0;
    pid = static_cast<int>(::syscall(SYS_clone3, &arguments, sizeof arguments));
  }
  must(pid, "make the namespaces (what this host allows: hutch doctor)");

  if (pid != 0) {
    write_id_maps(plan, pid);
    announce_clone(pidfd, pid);
    if (::write(go[1], "g", 1) != 1) fail("release the clone");
    ::_exit(0);
  }
  must(::close(go[1]), "close");
  // A directory of the host: pid 1 does not exec, so nothing else would close it.
  if (cgroup_directory >= 0) must(::close(cgroup_directory), "close");
  char released = 0;
  // End of file means that the outside half failed, and it has said why.
  if (must(static_cast<int>(::read(go[0], &released, 1)), "wait for the id maps") != 1) ::_exit(1);
  must(::close(go[0]), "close");
}

}  // namespace sandbox::init
