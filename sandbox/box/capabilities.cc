#include "sandbox/box/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace sandbox::box {
namespace {

using base::Error;

constexpr int kBitsPerWord = 32;
constexpr std::array kNeeded = {
    CAP_CHOWN,         // code given to a program of the session's id
    CAP_DAC_OVERRIDE,  // the session's directories, however it has closed them
    CAP_FOWNER,        // their modes
    CAP_KILL,          // its processes, by their pidfds
    CAP_SETGID,        // hutch-egress is started as another user,
    CAP_SETUID,        // also for a session that is allowed its first host later
    CAP_SYS_PTRACE,    // their memory, descriptors and mounts in /proc
};

bool is_needed(int capability, bool with_quota) {
  if (capability == CAP_SYS_ADMIN) return with_quota;
  for (const int needed : kNeeded) {
    if (needed == capability) return true;
  }
  return false;
}

}  // namespace

base::Status keep_needed_capabilities(bool with_quota) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return Error::from_errno("capget");
  if (sets[0].permitted == 0 && sets[1].permitted == 0) return base::done();
  for (int capability = 0; capability < kBitsPerWord * _LINUX_CAPABILITY_U32S_3; ++capability) {
    if (is_needed(capability, with_quota)) continue;
    auto& set = sets[static_cast<std::size_t>(capability / kBitsPerWord)];
    const std::uint32_t bit = 1U << (capability % kBitsPerWord);
    set.permitted &= ~bit;
    set.effective &= ~bit;
    set.inheritable &= ~bit;
  }
  // With it, no program gets back what its caller has given up, be it root's.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Error::from_errno("no_new_privs");
  if (::syscall(SYS_capset, &header, sets.data()) != 0) return Error::from_errno("capset");
  return base::done();
}

}  // namespace sandbox::box
