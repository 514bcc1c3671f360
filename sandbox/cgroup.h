// The cgroup of one session: memory, processes, CPU, and freezing. cgroups(7).
//
// Version 2 where its controllers can be had, else version 1, else nothing: then rlimits and
// watching stand in, and isolation() of the box says so. Cgroups lie near hutch's own
// (cgroup_place.h) and have names that no other state directory gives (cgroup_name.h), so whoever
// owns a session without a living box may sweep them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/limits.h"

namespace sandbox {

class Cgroup {
 public:
  // An Entrance says how a process gets into it.
  struct Entrance {
    std::vector<std::string> join_files;  // version 1: it writes "0" to each
    std::string directory;                // version 2: it is cloned into this one; empty without
  };

  // Removes the cgroup; everything in it must have ended, which is waited for a short while.
  virtual ~Cgroup() = default;

  [[nodiscard]] virtual Entrance entrance() const = 0;
  // Each reads a file of the kernel's; 0 where nobody counts.
  [[nodiscard]] virtual std::int64_t memory_peak_bytes() const = 0;
  [[nodiscard]] virtual std::int64_t memory_bytes() const = 0;  // now, with cache_bytes()
  [[nodiscard]] virtual std::int64_t cache_bytes() const = 0;  // page cache; given back when needed
  [[nodiscard]] virtual std::int64_t processor_time_us() const = 0;  // since the cgroup was made
  [[nodiscard]] virtual std::int64_t oom_kills() const = 0;          // since the cgroup was made
  // Forks that the process limit said no to, since the cgroup was made.
  [[nodiscard]] virtual std::int64_t pids_refused() const = 0;
  // Returns false where there is no freezer, else once every process has stopped or goes on.
  virtual bool freeze(bool frozen) = 0;

  // Each returns what holds the limit: "cgroup v2", "cgroup v1", or empty when this cgroup does
  // not.
  [[nodiscard]] virtual std::string holds_memory() const = 0;
  [[nodiscard]] virtual std::string holds_processes() const = 0;
  [[nodiscard]] virtual std::string holds_cpus() const = 0;
  [[nodiscard]] virtual std::string holds_freeze() const = 0;
};

// Returns one that holds nothing where cgroups cannot be used; it is never null.
std::unique_ptr<Cgroup> make_cgroup(const std::string& session_directory, const Limits& limits);

// Ends what is left in a session's cgroups and removes them. For the sweep of sessions whose box
// is dead.
void sweep_cgroup(const std::string& session_directory);

}  // namespace sandbox
