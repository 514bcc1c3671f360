// Finds what this host can give a session at most, whatever its operator allows.
#pragma once

#include <cstdint>
#include <string>

#include "sandbox/limits.h"

namespace sandbox {

// Returns the `most` of the row, and for processes no more than a quarter of the numbers that this
// host has for them (kernel.pid_max), so that one session does not use them up.
std::int64_t most_of_host(const LimitRow& row);

// Returns the most processes, from the text of /proc/sys/kernel/pid_max: a quarter of it, within
// the range of the row; the row's `most` where the text is no number.
std::int64_t most_processes(const std::string& pid_max, const LimitRow& row);

}  // namespace sandbox
