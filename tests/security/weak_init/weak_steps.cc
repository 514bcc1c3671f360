// Steps of hutch-init that can be left out, for tests only: a probe that reports no escape from a
// box without its layer proves nothing about the layer.
//
// This file is linked with the objects of the product's hutch-init, and the linker's --wrap sends
// each call here first (see tests/CMakeLists.txt for the list). Which layers are off stands in the
// file `without` in the state directory, as words; steps that are not named there run as they are.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sandbox/init/report.h"
#include "sandbox/init/steps.h"
#include "tests/security/weak_init/weak_plan.h"

using sandbox::init::must;
using sandbox::init::Plan;
using weak::is_off;

// REAL is the product's step, WRAP what the linker calls instead. Names are those of the C++ ABI.
#define REAL(name, mangled, type, ...) type real_##name(__VA_ARGS__) __asm__("__real_" mangled)
#define WRAP(name, mangled, type, ...) type wrap_##name(__VA_ARGS__) __asm__("__wrap_" mangled)
#define STEP(name, mangled, ...)          \
  REAL(name, mangled, void, __VA_ARGS__); \
  WRAP(name, mangled, void, __VA_ARGS__)

// A step that is called or not.
#define STEP_OR_NOTHING(name, mangled, layer) \
  STEP(name, mangled, );                      \
  void wrap_##name() {                        \
    if (!is_off(layer)) real_##name();        \
  }

// A step that sees the edited plan.
#define STEP_OF_PLAN(name, mangled)      \
  STEP(name, mangled, const Plan& plan); \
  void wrap_##name(const Plan& plan) { real_##name(weak::edited(plan)); }

extern "C" {
extern char** environ;
}

namespace {

constexpr char kOldRoot[] = "/tmp/old";  // in the new root before the pivot, /old after it
constexpr int kLeakedFd = 60;            // above what a spawn moves descriptors to
bool g_filter_is_installed = false;

void leak_host_directory() {
  const int fd = must(::open("/", O_RDONLY | O_DIRECTORY), "open the host's root");
  must(::dup2(fd, kLeakedFd), "leak a descriptor");
  must(::close(fd), "close");
}

// As if the box had been entered by an image's root: everything is kept across execve().
void keep_capabilities() {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  __user_cap_data_struct data[2] = {};
  must(static_cast<int>(::syscall(SYS_capget, &header, data)), "capget");
  for (auto& half : data) half.inheritable = half.permitted;
  must(static_cast<int>(::syscall(SYS_capset, &header, data)), "capset");
  for (unsigned long capability = 0; capability < 64; ++capability) {
    (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0);
  }
}

}  // namespace

STEP_OF_PLAN(open_bind_sources, "_ZN7sandbox4init17open_bind_sourcesERKNS0_4PlanE")
STEP_OF_PLAN(make_root_read_only, "_ZN7sandbox4init19make_root_read_onlyERKNS0_4PlanE")
STEP_OF_PLAN(apply_rlimits, "_ZN7sandbox4init13apply_rlimitsERKNS0_4PlanE")
STEP_OF_PLAN(use_cpus, "_ZN7sandbox4init8use_cpusERKNS0_4PlanE")
STEP_OR_NOTHING(enter_cgroup_namespace, "_ZN7sandbox4init22enter_cgroup_namespaceEv",
                "cgroup_namespace")
STEP_OR_NOTHING(raise_oom_score, "_ZN7sandbox4init15raise_oom_scoreEv", "oom_score")
STEP_OR_NOTHING(leave_keyring, "_ZN7sandbox4init13leave_keyringEv", "keyring")
STEP_OR_NOTHING(close_further_user_namespaces, "_ZN7sandbox4init29close_further_user_namespacesEv",
                "user_namespaces")
// The host's loopback is up, and not ours to change.
STEP_OR_NOTHING(bring_up_loopback, "_ZN7sandbox4init17bring_up_loopbackEv", "net")

REAL(join_cgroups, "_ZN7sandbox4init12join_cgroupsERKNS0_4PlanE", int, const Plan& plan);
WRAP(join_cgroups, "_ZN7sandbox4init12join_cgroupsERKNS0_4PlanE", int, const Plan& plan);
int wrap_join_cgroups(const Plan& plan) {
  weak::read_layers(plan);  // the first step, and the last that sees the host's files
  if (is_off("descriptors")) leak_host_directory();
  return real_join_cgroups(weak::edited(plan));
}

STEP(build_root, "_ZN7sandbox4init10build_rootERKNS0_4PlanE", const Plan& plan);
void wrap_build_root(const Plan& plan) {
  real_build_root(weak::edited(plan));
  if (is_off("pivot")) must(::mkdir(kOldRoot, 0755), "mkdir", kOldRoot);
}

STEP(pivot_into_root, "_ZN7sandbox4init15pivot_into_rootEv", );
void wrap_pivot_into_root() {
  if (!is_off("pivot")) return real_pivot_into_root();
  must(::chdir("/tmp"), "chdir to the new root");
  must(static_cast<int>(::syscall(SYS_pivot_root, ".", "old")), "pivot_root");
  must(::chdir("/"), "chdir /");
}

STEP(set_hostname, "_ZN7sandbox4init12set_hostnameERKNS0_4PlanE", const Plan& plan);
void wrap_set_hostname(const Plan& plan) {
  if (!is_off("uts")) real_set_hostname(plan);
}

STEP(install_seccomp_filter, "_ZN7sandbox4init22install_seccomp_filterEv", );
void wrap_install_seccomp_filter() {
  if (!is_off("seccomp") && !g_filter_is_installed) real_install_seccomp_filter();
}

STEP(drop_capabilities, "_ZN7sandbox4init17drop_capabilitiesEv", );
void wrap_drop_capabilities() {
  if (is_off("no_new_privs") && !is_off("seccomp")) {
    // Without no_new_privs the kernel wants CAP_SYS_ADMIN for this, and it goes now. The filter
    // lets nobody stop being dumpable.
    if (!is_off("dumpable")) must(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "clear dumpable");
    real_install_seccomp_filter();
    g_filter_is_installed = true;
  }
  is_off("capabilities") ? keep_capabilities() : real_drop_capabilities();
}

STEP_OR_NOTHING(forbid_new_privileges, "_ZN7sandbox4init21forbid_new_privilegesEv", "no_new_privs")

REAL(restrict_files, "_ZN7sandbox4init14restrict_filesERKNS0_4PlanE", int, const Plan& plan);
WRAP(restrict_files, "_ZN7sandbox4init14restrict_filesERKNS0_4PlanE", int, const Plan& plan);
int wrap_restrict_files(const Plan& plan) {
  return is_off("landlock") ? 0 : real_restrict_files(plan);
}

STEP(forbid_reading_init, "_ZN7sandbox4init19forbid_reading_initEv", );
void wrap_forbid_reading_init() {
  if (!is_off("dumpable")) return real_forbid_reading_init();
  // Changing ids has cleared it on the way: what this layer keeps cleared is set here.
  must(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "set dumpable");
}

// The C library's functions as init calls them.

extern "C" {

long real_syscall(long number, long a, long b, long c, long d, long e,
                  long f) __asm__("__real_syscall");
long wrap_syscall(long number, long a, long b, long c, long d, long e,
                  long f) __asm__("__wrap_syscall");
long wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
  if (number == SYS_clone3) {
    // Never user and mount: with them off, the steps that follow would change the host.
    auto* arguments = reinterpret_cast<clone_args*>(a);
    const struct {
      const char* layer;
      unsigned long long flag;
    } kNamespaces[] = {
        {"net", CLONE_NEWNET}, {"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS}, {"pid", CLONE_NEWPID}};
    for (const auto& entry : kNamespaces) {
      if (is_off(entry.layer)) arguments->flags &= ~entry.flag;
    }
  }
  return real_syscall(number, a, b, c, d, e, f);
}

int real_mount_setattr(int directory, const char* path, unsigned flags, mount_attr* attributes,
                       std::size_t size) __asm__("__real_mount_setattr");
int wrap_mount_setattr(int directory, const char* path, unsigned flags, mount_attr* attributes,
                       std::size_t size) __asm__("__wrap_mount_setattr");
int wrap_mount_setattr(int directory, const char* path, unsigned flags, mount_attr* attributes,
                       std::size_t size) {
  if (is_off("mount_setattr")) {  // as on Linux before 5.12
    errno = ENOSYS;
    return -1;
  }
  if (is_off("nosuid")) attributes->attr_set &= ~static_cast<__u64>(MOUNT_ATTR_NOSUID);
  if (is_off("nodev")) attributes->attr_set &= ~static_cast<__u64>(MOUNT_ATTR_NODEV);
  return real_mount_setattr(directory, path, flags, attributes, size);
}

int real_setgroups(std::size_t count, const gid_t* groups) __asm__("__real_setgroups");
int wrap_setgroups(std::size_t count, const gid_t* groups) __asm__("__wrap_setgroups");
int wrap_setgroups(std::size_t count, const gid_t* groups) {
  return is_off("groups") ? 0 : real_setgroups(count, groups);
}

pid_t real_setsid() __asm__("__real_setsid");
pid_t wrap_setsid() __asm__("__wrap_setsid");
pid_t wrap_setsid() { return is_off("session") ? 0 : real_setsid(); }

int real_kill(pid_t pid, int signal) __asm__("__real_kill");
int wrap_kill(pid_t pid, int signal) __asm__("__wrap_kill");
int wrap_kill(pid_t pid, int signal) {
  // Without its own namespace, "everybody" would be everybody of this user on the host.
  if (is_off("pid") && pid == -1) return 0;
  return real_kill(pid, signal);
}

int real_execve(const char* path, char* const argv[], char* const envp[]) __asm__("__real_execve");
int wrap_execve(const char* path, char* const argv[], char* const envp[]) __asm__("__wrap_execve");
int wrap_execve(const char* path, char* const argv[], char* const envp[]) {
  if (!is_off("environment")) return real_execve(path, argv, envp);
  static char* longer[256];
  int count = 0;
  while (count < 250 && envp[count] != nullptr) {
    longer[count] = envp[count];
    ++count;
  }
  // The tests give this to the server, as it would be if it were handed down.
  static char token[] = "API_TOKEN=hutch-secret-5f2b";
  longer[count] = token;
  return real_execve(path, argv, longer);
}

}  // extern "C"
