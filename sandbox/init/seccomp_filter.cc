// Installs the filters compiled from sandbox/policy/default.json at build time. seccomp(2).
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "sandbox/init/report.h"
#include "sandbox/init/steps.h"
#include "sandbox/policy/default_filter.h"  // generated
#include "sandbox/wire/plan_format.h"

namespace sandbox::init {
namespace {

template <std::size_t kLength>
void install(const sock_filter (&instructions)[kLength], const char* step) {
  sock_fprog program{};
  program.len = kLength;
  program.filter = const_cast<sock_filter*>(instructions);
  must(static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)), step);
}

}  // namespace

void forbid_sockets_of_the_host(const Plan& plan) {
  wire::PlanReader reader(plan.bytes, plan.size);
  wire::PlanRecord record;
  while (reader.next(record)) {
    if (record.op != wire::PlanOp::kNoHostSockets) continue;
    install(policy::kHostFolderFilter, "install the seccomp filter for host folders");
  }
}

void install_seccomp_filter() {
  // The one that decides about calls comes last: it may forbid installing another.
  install(policy::kArgumentFilter, "install the seccomp filter of arguments");
  install(policy::kCallFilter, "install the seccomp filter of calls");
}

}  // namespace sandbox::init
