// What code in a box reads as the machine's memory and processors: the session's, so that libraries
// size themselves to it. Sources: proc_meminfo(5), proc_cpuinfo(5), cgroups(7), and what libc,
// libuv, the JVM and DuckDB look for.
#pragma once

#include <string>

#include "sandbox/box/plan_writer.h"
#include "sandbox/limits.h"

namespace sandbox::box {

// Files for the plan, some of which stand in place of the kernel's in /proc. Of memory all is free,
// until MemoryView says what is used.
void add_machine_view(PlanWriter& plan, const Limits& limits);

// `host` is the host's file; the first `count` of its processors.
std::string first_processors(const std::string& host, std::int64_t count);
// The session's limit, or what the host has when that is less.
std::int64_t memory_of_session(const Limits& limits);
// `used_bytes` with `cache_bytes`, which can be had back. As long a text whatever they are.
std::string meminfo_of(std::int64_t total_bytes, std::int64_t used_bytes, std::int64_t cache_bytes);

}  // namespace sandbox::box
