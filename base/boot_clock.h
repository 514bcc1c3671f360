// Time since the start of the machine, which nobody who sets its clock moves.
#pragma once

#include <cstdint>
#include <string>

namespace base {

// Returns the time since the machine's start, with the time that it was suspended. CLOCK_BOOTTIME.
std::int64_t boottime_ms();

// Returns the time since the machine's start, without that. CLOCK_MONOTONIC.
std::int64_t uptime_ms();

// Tells this start of the machine from others; empty where the kernel does not say.
const std::string& boot_id();

}  // namespace base
