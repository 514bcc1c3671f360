// Tells whether namespaces may be made and a fresh /proc mounted in them.
#include "base/process.h"
#include "sandbox/probe/host.h"

namespace sandbox::probe {

namespace {

Finding user_namespaces(const Host& host) {
  const char* layer = "user namespaces";
  const std::string most = host.read("/proc/sys/user/max_user_namespaces");
  if (!host.has("/proc/self/ns/user")) {
    return {layer, State::kMissing, "not in this kernel", "use a kernel with CONFIG_USER_NS=y"};
  }
  if (most == "0") {
    return {layer, State::kMissing, "none may be made: user.max_user_namespaces is 0",
            "sysctl -w user.max_user_namespaces=15000"};
  }
  // Debian's own switch, up to version 10 off by default.
  if (host.read("/proc/sys/kernel/unprivileged_userns_clone") == "0" && !host.as_root()) {
    return {layer, State::kMissing,
            "only root may make them: kernel.unprivileged_userns_clone is 0",
            "sysctl -w kernel.unprivileged_userns_clone=1"};
  }
  return {layer, State::kGood, most.empty() ? "may be made" : "up to " + most, ""};
}

// Ubuntu 23.10 and later: the namespace is made, but the first mount in it fails with EPERM.
Finding apparmor(const Host& host) {
  const char* layer = "AppArmor";
  if (host.read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") != "1") {
    return {layer, State::kGood, "does not restrict user namespaces", ""};
  }
  if (host.as_root()) {
    return {layer, State::kGood, "restricts user namespaces of ordinary users only; this is root",
            ""};
  }
  const auto found = base::executable_directory();
  const std::string own = found.ok() ? found.value() : "DIRECTORY";
  const std::string profile = host.read("/proc/self/attr/current");
  if (profile.starts_with("hutch")) {
    return {layer, State::kGood, "allows them by the profile " + profile, ""};
  }
  return {layer, State::kMissing,
          "programs without a profile get user namespaces without any rights in them "
          "(kernel.apparmor_restrict_unprivileged_userns is 1, as on Ubuntu 24.04)",
          "load hutch's profile for this build: sudo sh " + own.substr(0, own.rfind('/')) +
              "/share/hutch/apparmor/install.sh " + own +
              "; or, for all programs: sudo sysctl -w "
              "kernel.apparmor_restrict_unprivileged_userns=0"};
}

// The kernel lets a user namespace mount a fresh procfs only if no part of the one that is there is
// covered (user_namespaces(7)). binfmt_misc is exempt: it covers an empty directory.
Finding proc(const Host& host) {
  std::vector<std::string> covered;
  bool has_proc = false;
  for (const Mount& mount : mounts_of(host)) {
    if (mount.target == "/proc" && mount.type == "proc") has_proc = true;
    if (mount.target.starts_with("/proc/") && mount.target != "/proc/sys/fs/binfmt_misc") {
      covered.push_back(mount.target);
    }
  }
  if (covered.empty() && has_proc) {
    return {"/proc", State::kGood, "whole: a session can have its own", ""};
  }
  const char* remedy =
      "start the container with --security-opt systempaths=unconfined (Docker), --security-opt "
      "unmask=ALL (Podman) or procMount: Unmasked (Kubernetes)";
  if (covered.empty()) return {"/proc", State::kMissing, "not mounted", "mount -t proc proc /proc"};
  const std::string detail = std::to_string(covered.size()) + " parts of it are covered (" +
                             covered.front() + (covered.size() > 1 ? ", ..." : "") +
                             "), as container runtimes do";
  if (host.as_root()) {
    return {"/proc", State::kWeaker,
            detail + ": a session may be refused a /proc of its own where root is not real root",
            remedy};
  }
  return {"/proc", State::kMissing, detail + ": a session cannot have its own", remedy};
}

}  // namespace

std::vector<Finding> namespace_findings(const Host& host) {
  return {user_namespaces(host), apparmor(host), proc(host)};
}

}  // namespace sandbox::probe
