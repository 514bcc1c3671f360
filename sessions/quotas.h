// Bounds of new sessions and of principals.
#pragma once

#include <cstdint>

#include "sandbox/limits.h"

namespace sessions {

struct Quotas {
  sandbox::Limits default_limits;
  sandbox::Limits most_limits;
  // These two limit each principal: those that have a box, and all that are not destroyed.
  std::int64_t sessions_max = 1000;
  std::int64_t kept_sessions_max = 10'000;
  std::int64_t idle_seconds = 600;
  std::int64_t retention_seconds = 7 * 86400;
};

}  // namespace sessions
