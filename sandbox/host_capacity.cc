#include "sandbox/host_capacity.h"

#include <cerrno>
#include <string>
#include <utility>

namespace sandbox {

using base::Error;

namespace {

// This errno is the kernel's own, in no header of the C library. seccomp(2) answers it where BPF
// programs have no room left (net.core.bpf_jit_limit).
constexpr int kNotSupportedByKernel = 524;

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
