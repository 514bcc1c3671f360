// The life of a box: from the plan on descriptor 3 to the end of its pid 1.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/init/report.h"
#include "sandbox/init/steps.h"
#include "sandbox/wire/plan_format.h"

namespace sandbox::init {
namespace {

void hand_over_root() {
  const int root_fd = open_root_directory();
  wire::InitHead head;
  head.type = wire::InitMessage::kRoot;
  must(send_to_box(head, root_fd, nullptr), "hand over the root directory");
  must(::close(root_fd), "close");
}

// Order matters: each step needs a right that a later step takes away.
// Returns the ABI of Landlock that holds, 0 without.
int enter_box(const Plan& plan) {
  enter_cgroup_namespace();         // its root is the cgroup that this process is in by now
  start_own_session();              // no controlling terminal, no process group of the host
  make_mounts_private();            // else our mounts would show up on the host
  open_bind_sources(plan);          // needs the host's tree
  become_box_user(plan);            // groups, gid, uid: what is made from here on is the user's
  build_root(plan);                 // on a fresh tmpfs, before anything hostile exists
  close_further_user_namespaces();  // needs the new /proc still writable
  pivot_into_root();                // the host's tree is gone after this
  set_hostname(plan);
  bring_up_loopback();
  open_network(plan);  // ports below 1024 need a right; nothing of it stays in the box's hands
  hand_over_network();
  keep_endings();
  make_root_read_only(plan);
  hand_over_root();  // with hutch-box's limit of descriptors: other boxes of the user use up ours
  leave_keyring();   // keyrings are not namespaced
  use_cpus(plan);
  have_usual_time_slices();
  apply_rlimits(plan);  // while CAP_SYS_RESOURCE of the new namespace is still ours
  drop_capabilities();  // bounding set too
  forbid_new_privileges();
  forbid_reading_init();                          // after the last id change, which resets it
  const int landlock_abi = restrict_files(plan);  // needs no_new_privs
  forbid_sockets_of_the_host(plan);               // where a folder of the host is in the box
  install_seccomp_filter();                       // last: it forbids what the steps above used
  return landlock_abi;
}

// The mapping of this process, or of the zygote whose memory the outside half shares.
Plan g_plan{nullptr, 0};

}  // namespace

const Plan& map_plan() {
  struct stat status {};
  must(::fstat(kPlanFd, &status), "read plan");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0 || size > wire::kPlanBytesMax) fail("read plan", "size");
  void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, kPlanFd, 0);
  if (bytes == MAP_FAILED) fail("map plan");
  g_plan = {static_cast<const char*>(bytes), size};
  const Plan& plan = g_plan;
  wire::PlanReader reader(plan.bytes, plan.size);
  wire::PlanRecord record;
  while (reader.next(record)) {
  }
  if (!reader.ok()) fail("read plan", "malformed");
  must(::close(kPlanFd), "close plan");
  return plan;
}

void announce_ready(int landlock_abi) {
  wire::InitHead head;
  head.type = wire::InitMessage::kReady;
  head.value = landlock_abi;
  must(send_to_box(head, -1, nullptr), "announce ready");
}

bool forget_plan() {
  const Plan plan = g_plan;
  g_plan = {nullptr, 0};
  return plan.bytes == nullptr || ::munmap(const_cast<char*>(plan.bytes), plan.size) == 0;
}

Ending live(bool warm) {
  must(static_cast<int>(::syscall(SYS_close_range, kBoxFd + 1, ~0U, 0)), "close descriptors");
  const Plan& plan = map_plan();
  const int cgroup_directory = join_cgroups(plan);
  raise_oom_score();  // CAP_SYS_RESOURCE is still the host's: then no box can lower it again
  clone_into_namespaces(plan, cgroup_directory);
  const int landlock_abi = enter_box(plan);
  if (!forget_plan()) fail("unmap plan");
  const int signals = open_signals();
  announce_ready(landlock_abi);
  return serve(signals, warm);
}

}  // namespace sandbox::init
