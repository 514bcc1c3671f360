// The present, by every clock that counts: one can be set, the others only go on.
#pragma once

#include <cstdint>
#include <string>

namespace sessions {

struct Moment {
  std::int64_t now_ms = 0;       // wall clock
  std::string boot_id;           // names the machine's start, from which the others count
  std::int64_t boottime_ms = 0;  // with the time it was suspended
  std::int64_t uptime_ms = 0;    // without
};

Moment moment_now();

}  // namespace sessions
