#include "sandbox/host_capacity.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

namespace sandbox {

using base::Error;

namespace {

// This errno is the kernel's own, in no header of the C library. seccomp(2) answers it where BPF
// programs have no room left (net.core.bpf_jit_limit).
constexpr int kNotSupportedByKernel = 524;

// The first version of the struct of PIDFD_GET_INFO, which many headers do not have: pidfd.h of the
// kernel.
constexpr std::uint64_t kPidfdInfoExit = 1 << 3;
struct PidfdInfo {
  std::uint64_t mask = kPidfdInfoExit;  // asked for, and then what there is
  std::uint64_t cgroup_id = 0;
  std::array<std::uint32_t, 11> ids{};
  std::int32_t exit_code = 0;  // as of waitpid(2)
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr unsigned long kGetPidfdInfo = _IOWR(0xFF, 11, PidfdInfo);

}  // namespace

bool is_host_limit(int os_errno) {
  switch (os_errno) {
    case EAGAIN:   // processes and threads: pid_max, threads-max, a pids cgroup around hutch
    case ENOMEM:   // memory of the kernel
    case EMFILE:   // descriptors of the process
    case ENFILE:   // and of the machine
    case ENOBUFS:  // sockets
    case EUSERS:   // namespaces within namespaces
    case ETOOMANYREFS:
    case kNotSupportedByKernel:
      return true;
    default:
      return false;
  }
}

Error as_capacity(Error failure) {
  if (is_host_limit(failure.os_errno)) failure.kind = Error::Kind::kCapacity;
  return failure;
}

std::optional<bool> was_killed(int pidfd) {
  siginfo_t ended{};
  if (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &ended, WEXITED | WNOWAIT | WNOHANG | __WALL) ==
      0) {
    if (ended.si_pid == 0) return std::nullopt;
    return ended.si_code == CLD_KILLED && ended.si_status == SIGKILL;
  }
  PidfdInfo info;
  if (::ioctl(pidfd, kGetPidfdInfo, &info) != 0 || (info.mask & kPidfdInfoExit) == 0) {
    return std::nullopt;
  }
  return WIFSIGNALED(info.exit_code) && WTERMSIG(info.exit_code) == SIGKILL;
}

Error describe_capacity(const Error& failure) {
  return base::error(Error::Kind::kCapacity,
                     "this machine is at one of its limits and cannot start a sandbox now (" +
                         failure.message + "); try again in " +
                         std::to_string(kCapacityRetryAfter.count()) + " seconds");
}

Error with_capacity_described(Error failure) {
  const bool is_new = failure.kind != Error::Kind::kCapacity && is_host_limit(failure.os_errno);
  return is_new ? describe_capacity(failure) : failure;
}

}  // namespace sandbox
