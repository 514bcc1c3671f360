// Where hutch runs: containers around it, who may look into its processes, where its files lie.
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>

#include "base/text.h"
#include "sandbox/probe/host.h"

namespace sandbox::probe {

namespace {

constexpr long kXfsMagic = 0x58465342;
constexpr long kCifsMagic = 0xff534d42;
constexpr long kSmb2Magic = 0xfe534d42;

Finding container(const Host& host) {
  std::string name;
  if (host.has("/.dockerenv")) name = "Docker";
  if (host.has("/run/.containerenv")) name = "Podman";
  if (host.has("/var/run/secrets/kubernetes.io")) name = "Kubernetes";
  if (name.empty()) name = host.read("/run/systemd/container");
  if (name.empty()) return {"container", State::kGood, "no sign of one around hutch", ""};
  return {"container", State::kGood,
          "hutch is inside of one (" + name + "): its limits hold for all sessions together", ""};
}

Finding ptrace(const Host& host) {
  const std::string scope = host.read("/proc/sys/kernel/yama/ptrace_scope");
  if (scope.empty() || scope == "0") {
    // A session cannot use it: its own namespaces show it nothing of the host.
    return {"ptrace", State::kGood,
            "open to other processes of this user on the host, not to sessions", ""};
  }
  return {"ptrace", State::kGood, "restricted (kernel.yama.ptrace_scope is " + scope + ")", ""};
}

// core(5): a piped pattern runs its program as root on the host unless RLIMIT_CORE is 1, which is
// what sessions have and the filter keeps.
Finding core_dumps(const Host& host) {
  const std::string pattern = host.read("/proc/sys/kernel/core_pattern");
  if (!pattern.starts_with('|')) return {"core dumps", State::kGood, "off in sessions", ""};
  const auto words = base::words_of(pattern.substr(1));
  return {"core dumps", State::kGood,
          "off in sessions: a crash there does not start the host's program (" +
              (words.empty() ? "none named" : words.front()) + ")",
          ""};
}

struct FileSystem {
  long magic;
  const char* name;
  bool is_remote;
};

constexpr std::array<FileSystem, 12> kFileSystems = {{{EXT4_SUPER_MAGIC, "ext4", false},
                                                      {kXfsMagic, "xfs", false},
                                                      {BTRFS_SUPER_MAGIC, "btrfs", false},
                                                      {TMPFS_MAGIC, "tmpfs", false},
                                                      {OVERLAYFS_SUPER_MAGIC, "overlay", false},
                                                      {F2FS_SUPER_MAGIC, "f2fs", false},
                                                      {NFS_SUPER_MAGIC, "nfs", true},
                                                      {kCifsMagic, "cifs", true},
                                                      {kSmb2Magic, "smb", true},
                                                      {V9FS_MAGIC, "9p", true},
                                                      {CEPH_SUPER_MAGIC, "ceph", true},
                                                      {FUSE_SUPER_MAGIC, "fuse", true}}};

// The directory, or the nearest above it that is there.
bool statfs_near(std::string path, struct statfs& filesystem) {
  while (::statfs(path.c_str(), &filesystem) != 0) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos || path == "/") return false;
    path = slash == 0 ? "/" : path.substr(0, slash);
  }
  return true;
}

Finding state(const std::string& directory) {
  const char* layer = "state directory";
  const std::string remedy = "set HUTCH_STATE_DIR to a directory on a local disk";
  struct statfs filesystem {};
  if (!statfs_near(directory, filesystem)) {
    return {layer, State::kMissing, directory + " cannot be reached", remedy};
  }
  const auto magic = static_cast<long>(filesystem.f_type);
  const FileSystem* known = nullptr;
  for (const FileSystem& one : kFileSystems) {
    if (one.magic == magic) known = &one;
  }
  const auto free_mb = static_cast<long long>(filesystem.f_bavail) * filesystem.f_bsize >> 20;
  const std::string detail = directory + " on " + (known != nullptr ? known->name : "an unknown") +
                             (known != nullptr ? "" : " file system") + ", " +
                             std::to_string(free_mb) + " MB free";
  if (known != nullptr && known->is_remote) {
    return {layer, State::kWeaker, detail + ": locks and sockets may fail on it", remedy};
  }
  if (magic == TMPFS_MAGIC) {
    return {layer, State::kWeaker, detail + ": sessions are lost at a reboot", remedy};
  }
  if (free_mb < 1024) return {layer, State::kWeaker, detail, "free some space"};
  return {layer, State::kGood, detail, ""};
}

}  // namespace

std::vector<Finding> surroundings_findings(const Host& host, const std::string& state_directory) {
  std::vector<Finding> findings = {container(host), ptrace(host), core_dumps(host)};
  if (!state_directory.empty()) findings.push_back(state(state_directory));
  return findings;
}

}  // namespace sandbox::probe
