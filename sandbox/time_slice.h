// Sets how long a thread may run before another takes its turn: Linux 6.12 and later,
// sched_setattr(2). It changes when it runs, not how much. An earlier kernel takes the wish and
// does nothing with it.
//
// Since 6.6 whoever runs keeps its processor until the end of its slice (0.7 to 2.8 ms, by the
// number of processors), and until the next tick, also when somebody wakes up who has run less,
// unless that one asks for a shorter slice. hutch-box does, since each of its turns is begun by a
// message for which somebody waits; hutch-init and hutch-egress take it back: code in boxes, and
// what passes through the door, have the kernel's.
#pragma once

#include <linux/types.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sandbox {

// Longer than most of hutch-box's turns are.
constexpr __u64 kShortSliceNs = 500'000;
constexpr __u64 kKernelsSlice = 0;

// Sets it for this thread, and for the threads and processes that come from it. Does nothing where
// it has another policy than SCHED_OTHER; false, with errno, where the kernel refuses it.
inline bool set_time_slice(__u64 slice_ns) {
  struct {  // struct sched_attr of <linux/sched/types.h>, which does not go together with <sched.h>
    __u32 size, policy;
    __u64 flags;
    __s32 nice;
    __u32 priority;
    __u64 runtime, deadline, period;
  } attributes{};
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return false;
  if (attributes.policy != SCHED_OTHER) return true;
  attributes.size = sizeof attributes;
  attributes.runtime = slice_ns;
  return ::syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

}  // namespace sandbox
