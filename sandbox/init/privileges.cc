// Giving up rights. Sources: capabilities(7), credentials(7), prctl(2), keyctl(2), setgroups(2).
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sandbox/init/report.h"
#include "sandbox/init/steps.h"
#include "sandbox/wire/plan_format.h"

namespace sandbox::init {

void start_own_session() {
  must(::setsid(), "setsid");
  must(::prctl(PR_SET_NAME, "hutch-init"), "prctl PR_SET_NAME");
}

void leave_keyring() {
  // The session keyring is inherited and not part of any namespace. Kernels without keyrings: fine.
  // EDQUOT: an ordinary user may have 200 keys (keyrings(7)), and so many boxes. The filter refuses
  // all calls about keys in those that come after.
  if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 && errno != ENOSYS &&
      errno != EDQUOT) {
    fail("join an own session keyring");
  }
}

void use_cpus(const Plan& plan) {
  wire::PlanReader reader(plan.bytes, plan.size);
  wire::PlanRecord record;
  while (reader.next(record)) {
    if (record.op != wire::PlanOp::kCpus) continue;
    const int wanted = std::atoi(record.fields[0]);
    cpu_set_t allowed;
    must(::sched_getaffinity(0, sizeof allowed, &allowed), "sched_getaffinity");
    const int present = CPU_COUNT(&allowed);
    if (wanted >= present) continue;
    // Start somewhere by pid, so that boxes do not all crowd the first CPUs.
    int skip = ::getppid() % present;
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    for (int round = 0; round < 2 * CPU_SETSIZE && CPU_COUNT(&chosen) < wanted; ++round) {
      const auto cpu = static_cast<std::size_t>(round % CPU_SETSIZE);
      if (!CPU_ISSET(cpu, &allowed)) continue;
      if (skip > 0) {
        --skip;
        continue;
      }
      CPU_SET(cpu, &chosen);
    }
    must(::sched_setaffinity(0, sizeof chosen, &chosen), "sched_setaffinity");
  }
}

void apply_rlimits(const Plan& plan) {
  wire::PlanReader reader(plan.bytes, plan.size);
  wire::PlanRecord record;
  while (reader.next(record)) {
    if (record.op != wire::PlanOp::kRlimit) continue;
    rlimit limit{};
    limit.rlim_cur = std::strtoull(record.fields[1], nullptr, 10);
    limit.rlim_max = std::strtoull(record.fields[2], nullptr, 10);
    const auto resource = static_cast<__rlimit_resource>(std::atoi(record.fields[0]));
    // Lower only: raising a hard limit needs a right on the host that most users do not have.
    rlimit now{};
    must(::getrlimit(resource, &now), "getrlimit", record.fields[0]);
    if (limit.rlim_max > now.rlim_max) limit.rlim_max = now.rlim_max;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    must(::setrlimit(resource, &limit), "setrlimit", record.fields[0]);
  }
}

void become_box_user(const Plan& plan) {
  wire::PlanReader reader(plan.bytes, plan.size);
  wire::PlanRecord record;
  while (reader.next(record)) {
    if (record.op != wire::PlanOp::kIdMap) continue;
    const auto id = static_cast<unsigned>(std::strtoul(record.fields[0], nullptr, 10));
    // Supplementary groups of the host (docker, disk, kvm) would keep their power over files.
    // Where setgroups() had to be denied, the ordinary user's own groups stay: doctor says so.
    if (std::strcmp(record.fields[3], "1") != 0) must(::setgroups(0, nullptr), "setgroups");
    must(::setresgid(id, id, id), "setresgid");
    must(::setresuid(id, id, id), "setresuid");
  }
}

void raise_oom_score() {
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  must(fd, "open oom_score_adj");
  // An operator may have set a higher one for all of hutch; lowering it would need a right.
  if (::write(fd, "500", 3) != 3 && errno != EACCES) fail("raise oom_score_adj");
  must(::close(fd), "close");
}

void drop_capabilities() {
  must(::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "clear ambient capabilities");
  // The bounding set first: dropping from it needs CAP_SETPCAP.
  for (unsigned long capability = 0; capability < 64; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0 && errno != EINVAL) {
      fail("drop the capability bounding set");
    }
  }
  constexpr unsigned long kBits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  must(::prctl(PR_SET_SECUREBITS, kBits), "lock securebits");
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  const __user_cap_data_struct none[2] = {};
  must(static_cast<int>(::syscall(SYS_capset, &header, none)), "capset");
}

void forbid_new_privileges() { must(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "set no_new_privs"); }

void forbid_reading_init() {
  // Same uid as the code in the box: without this it could open /proc/1/mem and /proc/1/fd.
  must(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "clear dumpable");
}

}  // namespace sandbox::init
