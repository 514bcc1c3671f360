// Shows code in a box the session's memory and processors as the machine's, so that libraries size
// themselves to them. Sources: proc_meminfo(5), proc_cpuinfo(5), cgroups(7), and what libc, libuv,
// the JVM and DuckDB look for.
#pragma once

#include <string>

#include "sandbox/box/plan_writer.h"
#include "sandbox/limits.h"

namespace sandbox::box {

// Adds files to the plan, some of which stand in place of the kernel's in /proc. They say that all
// memory is free, until MemoryView says what is used.
void add_machine_view(PlanWriter& plan, const Limits& limits);

// Returns the first `count` processors of `host`, which is the host's file.
std::string first_processors(const std::string& host, std::int64_t count);
// Returns the session's limit in bytes, or what the host has when that is less.
std::int64_t memory_of_session(const Limits& limits);
// Returns the text of /proc/meminfo, which is equally long whatever the numbers are. `used_bytes`
// includes `cache_bytes`, which can be had back.
std::string meminfo_of(std::int64_t total_bytes, std::int64_t used_bytes, std::int64_t cache_bytes);

}  // namespace sandbox::box
