// Says how firmly each limit of a session holds, which depends on what its box could get on this
// host.
//
// A box says in its isolation what holds its limits, in the words below; here is what that is
// worth. Nobody else judges it: not the probe, not the tools.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sandbox/isolation.h"
#include "sandbox/limits.h"

namespace sandbox {

enum class Level {
  kNone,     // nobody holds it
  kWatched,  // measured while something runs, and ended with its cause when seen beyond
  kHard,     // more is refused, or cut off
};

// Returns none, watched or hard.
const char* name_of(Level level);

struct Holder {
  const char* words;
  Level level;
};

inline constexpr Holder kCgroup1{"cgroup v1", Level::kHard};
inline constexpr Holder kCgroup2{"cgroup v2", Level::kHard};
inline constexpr Holder kProjectQuota{"project quota", Level::kHard};
// It is set inside of the box's own namespace, before anything of the session runs there.
inline constexpr Holder kRlimit{"rlimit", Level::kHard};
// A fork bomb of the host's root grows faster than the watch can end it.
inline constexpr Holder kSparedRlimit{"an rlimit, which the kernel spares root", Level::kNone};
// The filter answers sched_setaffinity(2) as if it had done it.
inline constexpr Holder kAffinity{"CPU affinity", Level::kHard};
inline constexpr Holder kWatch{"watched", Level::kWatched};
inline constexpr Holder kWatchAndRlimit{"watched, and an rlimit per process", Level::kWatched};
// It stands for the box's own deadlines, and the pipes that it reads: no code inside has a part in
// them.
inline constexpr Holder kBox{"hutch-box", Level::kHard};

struct Enforced {
  const char* limit;  // its name in kLimitRows
  Level level;
  std::string holder;  // as the box named it; empty: it named none
};

// Returns all of kLimitRows, in that order. Words that are not above are worth nothing.
std::vector<Enforced> enforcement_of(const Isolation& isolation);

// Returns {"memory_mb": "hard", ..}.
nlohmann::json enforcement_to_json(const std::vector<Enforced>& enforcement);

}  // namespace sandbox
