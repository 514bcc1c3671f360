#include "sandbox/egress/posture.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "sandbox/policy/default_filter.h"  // generated

namespace sandbox::egress {
namespace {

template <std::size_t kLength>
base::Status install_filter(const sock_filter (&instructions)[kLength]) {
  sock_fprog program{};
  program.len = kLength;
  program.filter = const_cast<sock_filter*>(instructions);
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
    return base::Error::from_errno("install a seccomp filter");
  }
  return base::done();
}

}  // namespace

base::Status restrict_calls() {
  TRY(install_filter(policy::kDoorFilter));
  TRY(install_filter(policy::kArgumentFilter));
  // Last: it may forbid installing another.
  return install_filter(policy::kCallFilter);
}

}  // namespace sandbox::egress
