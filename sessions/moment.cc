#include "sessions/moment.h"

#include "base/boot_clock.h"
#include "base/clock.h"

namespace sessions {

Moment moment_now() {
  return {base::now_ms(), base::boot_id(), base::boottime_ms(), base::uptime_ms()};
}

}  // namespace sessions
