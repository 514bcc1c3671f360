#include "sandbox/box/plan.h"

#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "sandbox/box/covers.h"
#include "sandbox/box/host_etc.h"
#include "sandbox/box/host_folders.h"
#include "sandbox/box/machine_view.h"
#include "sandbox/box/network.h"
#include "sandbox/box/plan_writer.h"
#include "sandbox/environment.h"
#include "sandbox/session_parts.h"

namespace sandbox::box {
namespace {

using base::Error;
using wire::PlanOp;

constexpr std::int64_t kMegabyte = 1 << 20;
constexpr const char* kHostName = "hutch";
constexpr std::int64_t kUntouchedMb = 128;
constexpr std::int64_t kUntouchedMbMax = 2048;
constexpr std::int64_t kLeastDataMb = 640;  // below it node does not start its threads

// As runners/bash/explain.sh knows them.
constexpr const char* kExplained[] = {"apt",
                                      "apt-get",
                                      "aptitude",
                                      "dnf",
                                      "yum",
                                      "apk",
                                      "pacman",
                                      "zypper",
                                      "snap",
                                      "brew",
                                      "conda",
                                      "mamba",
                                      "micromamba",
                                      "sudo",
                                      "su",
                                      "docker",
                                      "podman",
                                      "docker-compose",
                                      "podman-compose",
                                      "systemctl",
                                      "service",
                                      "crontab",
                                      "at",
                                      "ping",
                                      "traceroute",
                                      "vi",
                                      "vim",
                                      "nano",
                                      "emacs",
                                      "pico",
                                      "mcedit"};

// These entries of /proc tell about the machine, or do something to it (security checklist, OCI's
// masked paths).
constexpr const char* kMaskedProc[] = {
    "/proc/acpi",       "/proc/asound",        "/proc/buddyinfo",     "/proc/bus",
    "/proc/cmdline",    "/proc/config.gz",     "/proc/consoles",      "/proc/diskstats",
    "/proc/dma",        "/proc/driver",        "/proc/dynamic_debug", "/proc/execdomains",
    "/proc/fs",         "/proc/interrupts",    "/proc/iomem",         "/proc/ioports",
    "/proc/irq",        "/proc/kallsyms",      "/proc/kcore",         "/proc/key-users",
    "/proc/keys",       "/proc/kmsg",          "/proc/kpagecgroup",   "/proc/kpagecount",
    "/proc/kpageflags", "/proc/latency_stats", "/proc/locks",         "/proc/misc",
    "/proc/modules",    "/proc/mtrr",          "/proc/pagetypeinfo",  "/proc/partitions",
    "/proc/pressure",   "/proc/sched_debug",   "/proc/schedstat",     "/proc/scsi",
    "/proc/slabinfo",   "/proc/softirqs",      "/proc/sysrq-trigger", "/proc/sysvipc",
    "/proc/timer_list", "/proc/timer_stats",   "/proc/tty",           "/proc/vmallocinfo",
    "/proc/vmstat",     "/proc/zoneinfo"};

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

void add_directory(PlanWriter& plan, const std::string& path) {
  plan.add(PlanOp::kDirectory, {path, "0755"});
}

void add_bind(PlanWriter& plan, const std::string& source, const std::string& target,
              const std::string& options) {
  plan.add(PlanOp::kBind, {source, target, options, "0", "0"});
}

// Returns the /usr of the environment where that has one of its own, else the host's.
std::string usr_of(const std::string& environment_directory) {
  const std::string own = environment_directory + "/debian/usr";
  return !environment_directory.empty() && is_directory(own) ? own : "/usr";
}

// In front of those programs that the box has.
void add_explained(PlanWriter& plan, const std::string& usr) {
  add_directory(plan, kExplainedPlace);
  for (const char* name : kExplained) {
    const auto is_in = [&](const char* folder) {
      return ::access((usr + folder + name).c_str(), X_OK) == 0;
    };
    if (!is_in("/bin/") && !is_in("/local/bin/") && !is_in("/sbin/")) continue;
    std::string place = kExplainedPlace;
    place.append("/").append(name);
    plan.add(PlanOp::kSymlink, {"/run/hutch/runners/bash/explain.sh", place});
  }
}

base::Status add_programs(PlanWriter& plan, const std::string& environment_directory) {
  add_directory(plan, "/usr");
  const std::string programs = usr_of(environment_directory);
  add_bind(plan, programs, "/usr", programs != "/usr" ? "rl" : "r");
  for (const char* path : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    char target[PATH_MAX];
    const ssize_t size = ::readlink(path, target, sizeof target);
    if (size > 0) {
      plan.add(PlanOp::kSymlink, {std::string(target, static_cast<std::size_t>(size)), path});
    } else if (errno == EINVAL && is_directory(path)) {
      add_bind(plan, path, path, "r");
    } else if (errno != EINVAL && errno != ENOENT) {
      // Without the directory of the loader no program of the box would start.
      return Error::from_errno("look at " + std::string(path));
    }
  }
  return base::done();
}

void add_etc(PlanWriter& plan, bool has_network) {
  add_host_etc(plan, "/etc");
  plan.add(
      PlanOp::kFile,
      {"/etc/passwd",
       "user:x:1000:1000:user:/home/user:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n"});
  plan.add(PlanOp::kFile, {"/etc/group", "user:x:1000:\nnogroup:x:65534:\n"});
  plan.add(PlanOp::kFile, {"/etc/hostname", std::string(kHostName) + "\n"});
  plan.add(PlanOp::kFile, {"/etc/hosts", "127.0.0.1 localhost hutch\n::1 localhost\n"});
  plan.add(PlanOp::kFile,
           {"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"});
  plan.add(PlanOp::kFile, {"/etc/resolv.conf", has_network ? "nameserver 127.0.0.1\n" : ""});
  // A commit needs some identity; one in ~/.gitconfig or a repository goes before it. All folders
  // are the session's own, also those of the host that belong to somebody else.
  plan.add(PlanOp::kFile, {"/etc/gitconfig",
                           "[user]\n\tname = user\n\temail = user@hutch.invalid\n"
                           "[init]\n\tdefaultBranch = main\n[safe]\n\tdirectory = *\n"});
}

void add_devices(PlanWriter& plan, const Limits& limits) {
  add_directory(plan, "/dev");
  for (const char* name : {"null", "zero", "full", "random", "urandom"}) {
    const std::string path = std::string("/dev/") + name;
    add_bind(plan, path, path, "");
  }
  plan.add(PlanOp::kSymlink, {"/proc/self/fd", "/dev/fd"});
  plan.add(PlanOp::kSymlink, {"/proc/self/fd/0", "/dev/stdin"});
  plan.add(PlanOp::kSymlink, {"/proc/self/fd/1", "/dev/stdout"});
  plan.add(PlanOp::kSymlink, {"/proc/self/fd/2", "/dev/stderr"});
  plan.add(PlanOp::kTerminals, {"/dev/pts"});
  plan.add(PlanOp::kSymlink, {"pts/ptmx", "/dev/ptmx"});
  // Pages of a tmpfs are charged to the session's memory; half of it leaves room for processes.
  const std::string half = std::to_string(limits.memory_mb * kMegabyte / 2);
  plan.add(PlanOp::kTmpfs, {"/dev/shm", half, "4096", "1777"});
}

void add_proc(PlanWriter& plan) {
  plan.add(PlanOp::kProc, {"/proc"});
  // Both count against whoever made the namespace: one box could take all that root or the user
  // has.
  plan.add(PlanOp::kSysctl, {"user/max_inotify_instances", "16"});
  plan.add(PlanOp::kSysctl, {"user/max_inotify_watches", "16384"});
  for (const char* path : kMaskedProc) plan.add(PlanOp::kMask, {path});
}

// A directory of the session, checked to be a directory and named by device and inode, so that
// init binds this one or none.
base::Status add_session_directory(PlanWriter& plan, const BoxSpec& spec, const char* part,
                                   const std::string& target, const std::string& options) {
  const std::string source = session_part(spec.session_directory, part);
  struct stat status {};
  if (::lstat(source.c_str(), &status) != 0) return Error::from_errno("stat " + source);
  if (!S_ISDIR(status.st_mode)) {
    return base::error(Error::Kind::kInvalid, source + " is not a directory");
  }
  plan.add(PlanOp::kBind,
           {source, target, options, std::to_string(status.st_dev), std::to_string(status.st_ino)});
  return base::done();
}

base::Status add_session(PlanWriter& plan, const BoxSpec& spec) {
  for (const char* path : {"/home", "/mnt", "/run", "/run/hutch", "/run/hutch/bin", "/var"})
    add_directory(plan, path);
  if (!spec.environment_directory.empty()) {
    add_bind(plan, spec.environment_directory, kEnvironmentPlace, "r");
    // Node looks here last, whatever folder the importing file lies in.
    const std::string modules = std::string(kEnvironmentPlace) + "/node_modules";
    plan.add(PlanOp::kSymlink, {modules, "/node_modules"});
  }
  // Debian calls it python3 only, and scripts begin with `env python`. Last on PATH: where the host
  // has a python, that is the one.
  plan.add(PlanOp::kSymlink, {"/usr/bin/python3", "/run/hutch/bin/python"});
  add_explained(plan, usr_of(spec.environment_directory));
  plan.add(PlanOp::kSymlink, {"/tmp", "/var/tmp"});
  plan.add(PlanOp::kSymlink, {"/workspace", "/mnt/data"});  // where models look by habit
  TRY(add_session_directory(plan, spec, kWorkspacePart, "/workspace", ""));
  TRY(add_session_directory(plan, spec, kHomePart, "/home/user", ""));
  TRY(add_session_directory(plan, spec, kTmpPart, "/tmp", ""));
  TRY(add_session_directory(plan, spec, kRunsPart, "/runs", "rx"));
  const auto runners = base::real_path(spec.data_directory + "/runners");
  if (!runners) return Error::from_errno("find " + spec.data_directory + "/runners");
  add_bind(plan, *runners, "/run/hutch/runners", "r");
  // Its pages are memory of the session too, which may be small.
  const std::int64_t state =
      std::min<std::int64_t>(64 * kMegabyte, spec.limits.memory_mb * kMegabyte / 8);
  plan.add(PlanOp::kTmpfs, {"/run/hutch/state", std::to_string(state), "4096", "0700"});
  return base::done();
}

void add_ids(PlanWriter& plan, const BoxSpec& spec) {
  const bool root = spec.host_uid.has_value();
  const std::string uid = std::to_string(root ? *spec.host_uid : ::getuid());
  const std::string gid = std::to_string(root ? *spec.host_uid : ::getgid());
  plan.add(PlanOp::kIdMap, {std::to_string(kBoxUid), uid, gid, root ? "0" : "1"});
}

// Says what Landlock leaves: the box's root to read, and to change only what is the session's.
void add_access(PlanWriter& plan) {
  plan.add(PlanOp::kAccess, {"/", "r"});
  // By the mount of the host too, which is where /proc/self/exe leads in copies of the zygote.
  plan.add(PlanOp::kAccess, {"/usr", "r"});
  for (const char* path : {"/dev", "/proc"}) plan.add(PlanOp::kAccess, {path, "u"});
  for (const char* path : {"/workspace", "/home/user", "/tmp", "/dev/shm", "/run/hutch/state"}) {
    plan.add(PlanOp::kAccess, {path, "w"});
  }
}

void add_rlimit(PlanWriter& plan, int resource, std::int64_t value) {
  plan.add(PlanOp::kRlimit,
           {std::to_string(resource), std::to_string(value), std::to_string(value)});
}

void add_limits(PlanWriter& plan, const BoxSpec& spec, const RlimitFallbacks& fallbacks) {
  const Limits& limits = spec.limits;
  // 1, not 0: a core_pattern that is a pipe ignores the limit otherwise (core(5)).
  add_rlimit(plan, RLIMIT_CORE, 1);
  // limits.conf gives some users more than 0: real-time tasks run outside of any share of the CPUs.
  add_rlimit(plan, RLIMIT_RTPRIO, 0);
  add_rlimit(plan, RLIMIT_NICE, 0);
  add_rlimit(plan, RLIMIT_NOFILE, limits.open_files);
  add_rlimit(plan, RLIMIT_FSIZE, limits.disk_mb * kMegabyte);
  // Kernel memory that a process can pin without it showing as its own.
  add_rlimit(plan, RLIMIT_MSGQUEUE, 819200);
  add_rlimit(plan, RLIMIT_SIGPENDING, 4096);
  add_rlimit(plan, RLIMIT_MEMLOCK, 8 * kMegabyte);
  // One more than asked for: init counts, and hutch put it there.
  if (fallbacks.processes) add_rlimit(plan, RLIMIT_NPROC, limits.processes + 1);
  // One process that asks for more than the session has is told so, and keeps what it holds; what
  // all of them really use is held by the cgroup or the watch. Some more, for what a process has
  // mapped and never touched, stacks of threads and heaps of libraries: a process that knows how
  // much that is, as Python's runner does (data_limit.py), may take as much.
  const std::int64_t data = std::max(limits.memory_mb + kUntouchedMb, kLeastDataMb) * kMegabyte;
  plan.add(PlanOp::kRlimit, {std::to_string(RLIMIT_DATA), std::to_string(data),
                             std::to_string(data + kUntouchedMbMax * kMegabyte)});
  if (fallbacks.cpus) plan.add(PlanOp::kCpus, {std::to_string(limits.cpus)});
}

}  // namespace

base::Result<std::string> make_plan(const BoxSpec& spec, const Cgroup::Entrance& entrance,
                                    const RlimitFallbacks& fallbacks) {
  PlanWriter plan;
  for (const std::string& file : entrance.join_files) plan.add(PlanOp::kCgroup, {file});
  if (!entrance.directory.empty()) plan.add(PlanOp::kCgroup2, {entrance.directory});
  add_ids(plan, spec);
  plan.add(PlanOp::kHostname, {kHostName});
  TRY(add_programs(plan, spec.environment_directory));
  add_etc(plan, !spec.network.empty());
  add_devices(plan, spec.limits);
  add_proc(plan);
  TRY(add_session(plan, spec));
  add_machine_view(plan, spec.limits);
  TRY(add_host_folders(plan, spec));
  plan.add(PlanOp::kReadOnly, {"/proc/sys"});
  plan.add(PlanOp::kReadOnly, {"/"});
  add_access(plan);
  for (const HostFolder& folder : spec.host_folders) {
    if (folder.writable) plan.add(PlanOp::kAccess, {place_of(folder), "w"});
  }
  add_network(plan, spec);
  TRY(add_covers(plan, spec));
  add_limits(plan, spec, fallbacks);
  std::string bytes = plan.take();
  if (bytes.size() > wire::kPlanBytesMax) return base::error(Error::Kind::kLimit, "plan too large");
  return bytes;
}

}  // namespace sandbox::box
