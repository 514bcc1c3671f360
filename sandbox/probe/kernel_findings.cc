// Finds what the kernel can do, by calling it with arguments that cannot succeed: a call it does
// not know says ENOSYS, one that a filter above us forbids says EPERM or ENOSYS, others find the
// arguments wrong.
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "sandbox/probe/host.h"

namespace sandbox::probe {

namespace {

constexpr long kInvalid = -1;

bool there(long result) { return result >= 0 || (errno != ENOSYS && errno != EPERM); }

struct Call {
  const char* name;
  const char* since;
  bool there;
};

Finding kernel(const Host& host) {
  utsname name{};
  (void)::uname(&name);
  const std::string machine = std::string(name.release) + " " + name.machine;
  std::string release = host.read("/proc/sys/kernel/osrelease");
  if (release.empty() || host.is_this_one()) release = machine;
  return {"kernel", State::kGood, "Linux " + release, ""};
}

Finding system_calls() {
  const Call calls[] = {
      {"pidfd_send_signal", "5.1",
       there(::syscall(SYS_pidfd_send_signal, kInvalid, 0, nullptr, 0))},
      {"open_tree", "5.2", there(::syscall(SYS_open_tree, kInvalid, nullptr, ~0U))},
      {"clone3", "5.3", there(::syscall(SYS_clone3, nullptr, 0))},
      {"pidfd_open", "5.3", there(::syscall(SYS_pidfd_open, kInvalid, 0))},
      {"openat2", "5.6", there(::syscall(SYS_openat2, kInvalid, nullptr, nullptr, 0))},
      // From 1 to 0 is no range.
      {"close_range", "5.9", there(::syscall(SYS_close_range, 1, 0, 0))},
  };
  std::vector<std::string> good;
  std::vector<std::string> missing;
  for (const Call& call : calls) {
    if (call.there) {
      good.emplace_back(call.name);
    } else {
      missing.push_back(std::string(call.name) + " (Linux " + call.since + ")");
    }
  }
  if (missing.empty()) return {"system calls", State::kGood, base::join(good, " "), ""};
  return {"system calls", State::kMissing, "not there or forbidden: " + base::join(missing),
          "use Linux 5.9 or newer; in a container, start it with a seccomp profile that allows "
          "them (docker run --security-opt seccomp=unconfined)"};
}

Finding mount_calls() {
  if (there(::syscall(SYS_mount_setattr, kInvalid, nullptr, ~0U, nullptr, 0))) {
    return {"mount calls", State::kGood, "mount_setattr", ""};
  }
  if (errno == EPERM) {
    return {"mount calls", State::kMissing, "mount_setattr is forbidden",
            "in a container, start it with a seccomp profile that allows it (docker run "
            "--security-opt seccomp=unconfined)"};
  }
  return {"mount calls", State::kGood,
          "no mount_setattr (Linux 5.12): mount(2) does; sessions with ids of their own are "
          "granted no folders of the host",
          ""};
}

Finding seccomp(const Host& host) {
  // prctl(2): EINVAL without CONFIG_SECCOMP; 2 means that we are in a filter ourselves.
  const int mode = ::prctl(PR_GET_SECCOMP);
  if (mode < 0) {
    return {"seccomp", State::kMissing, "not in this kernel: system calls cannot be filtered",
            "use a kernel with CONFIG_SECCOMP_FILTER=y"};
  }
  const auto actions = base::words_of(host.read("/proc/sys/kernel/seccomp/actions_avail"));
  if (!actions.empty() && !base::contains(actions, "kill_process")) {
    return {"seccomp", State::kMissing,
            "cannot kill a whole process (only " + base::join(actions, " ") + ")",
            "use Linux 4.14 or newer"};
  }
  return {"seccomp", State::kGood,
          mode == 2 ? "system calls are filtered; hutch is in a filter itself"
                    : "system calls are filtered",
          ""};
}

Finding landlock() {
  const long abi =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi > 0) {
    return {"Landlock", State::kGood, "ABI " + std::to_string(abi), ""};
  }
  return {"Landlock", State::kWeaker,
          errno == EOPNOTSUPP ? "in this kernel but off: namespaces alone hold the files"
                              : "not in this kernel: namespaces alone hold the files",
          "boot with landlock in the lsm= parameter (Linux 5.13 with CONFIG_SECURITY_LANDLOCK=y)"};
}

Finding keyrings() {
  constexpr int kSessionKeyring = -3;
  const long id = ::syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, kSessionKeyring, 0);
  if (there(id)) {
    return {"keyrings", State::kGood, "there; a session does not see hutch's", ""};
  }
  return {"keyrings", State::kGood, "not there or forbidden: nothing to keep apart", ""};
}

Finding overlay(const Host& host) {
  for (const std::string& line : host.lines("/proc/filesystems")) {
    if (line.ends_with("\toverlay")) return {"overlayfs", State::kGood, "there", ""};
  }
  return {"overlayfs", State::kGood,
          "not loaded yet: only environments with packages of Debian (--apt) need it", ""};
}

}  // namespace

std::vector<Finding> kernel_findings(const Host& host) {
  return {kernel(host), system_calls(), mount_calls(), seccomp(host),
          landlock(),   keyrings(),     overlay(host)};
}

}  // namespace sandbox::probe
