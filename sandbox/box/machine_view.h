// What code in a box reads as the machine's memory and processors: the session's, so that libraries
// size themselves to it. Sources: proc_meminfo(5), proc_cpuinfo(5), cgroups(7), and what libc,
// libuv, the JVM and DuckDB look for.
#pragma once

#include <string>

#include "sandbox/box/plan_writer.h"
#include "sandbox/limits.h"

namespace sandbox::box {

// Files for the plan, some of which stand in place of the kernel's in /proc. What they say does not
// change while the box lives: of memory all is free.
void add_machine_view(PlanWriter& plan, const Limits& limits);

// `host` is the host's file; the first `count` of its processors.
std::string first_processors(const std::string& host, std::int64_t count);
std::string meminfo_of(std::int64_t bytes);

}  // namespace sandbox::box
