// The steps of entering the box, one per kernel feature. Each ends the process through fail() when
// it does not succeed completely; none allocates.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace sandbox::init {

// This is the plan as it lies in memory.
struct Plan {
  const char* bytes;
  std::size_t size;
};

// The outside half: still on the host, before the clone.

// It is called before the clone, so that nothing of the box ever runs outside of its limits.
// Returns the directory of the version 2 cgroup that the clone shall start in, -1 without one.
int join_cgroups(const Plan& plan);
void raise_oom_score();

// Clones into the cgroup of that directory and into all namespaces but that of cgroups. Returns in
// the child (pid 1 of the box) only; the parent writes the id maps, tells hutch-box the pidfd, and
// exits.
void clone_into_namespaces(const Plan& plan, int cgroup_directory);
// It is called after a clone into that directory that failed. Returns true when we have moved there
// instead.
bool join_before_clone(int cgroup_directory, int error);

// Inside, in the order of enter_box().

void enter_cgroup_namespace();
void start_own_session();
void make_mounts_private();
void open_bind_sources(const Plan& plan);
void become_box_user(const Plan& plan);
void build_root(const Plan& plan);
void close_further_user_namespaces();
void pivot_into_root();
void set_hostname(const Plan& plan);
void bring_up_loopback();
// Returns a socket, not blocking, that is connected to a server of the box, or about to be; -1 and
// errno when there is none. `family`: AF_INET or AF_INET6.
int connect_to_loopback(int family, std::uint16_t port);
// Makes the routes and listening sockets that the plan names; the sockets go to hutch-box. Needs
// loopback.
void open_network(const Plan& plan);
// Hands over the network namespace, so that hutch-box can have more sockets later
// (enter_network()).
void hand_over_network();
void keep_endings();
void make_root_read_only(const Plan& plan);
int open_root_directory();
void use_cpus(const Plan& plan);
void have_usual_time_slices();
void apply_rlimits(const Plan& plan);
void leave_keyring();
void drop_capabilities();
void forbid_new_privileges();
void forbid_reading_init();
// Returns the ABI of Landlock that holds from here, 0 where the kernel has none.
int restrict_files(const Plan& plan);
void forbid_sockets_of_the_host(const Plan& plan);
void install_seccomp_filter();

// Pid 1 calls these once the box is up.

// Blocks all signals; those of children are read from the descriptor. Before ready is said.
int open_signals();

enum class Ending {
  kBox,         // hutch-box is gone: this is pid 1, and has nothing more to do
  kInterpreter  // this is a child, a copy of the warmed interpreter that pid 1 was made of
};

// Starts processes for hutch-box, reaps, forwards signals, until hutch-box is gone. `warm`: pid 1
// is a copy of a warmed interpreter, and may be asked for copies of itself.
Ending serve(int signals, bool warm);

// Notes how a process ended that hutch-box has not asked for; `wait_status` as wait(2) gives it.
void note_ending(pid_t pid, int wait_status);

// Returns the arguments or the environment that hutch-box asked for a copy; the strings stay where
// they are. Null before there is one.
const char* const* copied_arguments();
const char* const* copied_environment();

// Maps the plan on kPlanFd, and makes sure that it is whole.
const Plan& map_plan();
void announce_ready(int landlock_abi);

// Opens in a box that is up what the plan on kPlanFd says of its network, which is kNetworkFd, and
// nothing else of the plan. For whoever has made the box, with its user id.
void enter_network();

// Takes the plan on kPlanFd, enters the box and serves hutch-box on kBoxFd.
Ending live(bool warm);

// Unmaps the plan, where it is mapped: also one that an outside half has left in the memory that it
// shared. Returns false when that fails.
[[nodiscard]] bool forget_plan();

struct ZygoteStart {
  const char* script;
  const char* library;
  const char* directory;    // the zygote's own
  const char* environment;  // null: none
};
// Executes Python with the script and library of the zygote. Returns when it cannot, with a status.
int become_zygote(const ZygoteStart& start);

// Gives this process the host's tree, with the environment in it unless that is null, in namespaces
// of its own. Returns false with errno when that fails.
bool have_own_root(const char* environment);

}  // namespace sandbox::init
