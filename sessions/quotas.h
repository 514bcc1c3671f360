// Bounds of new sessions and of principals. A server that reads its configuration anew changes them
// while sessions are made.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "sandbox/limits.h"

namespace sessions {

struct Quotas {
  sandbox::Limits default_limits;
  sandbox::Limits most_limits;
  // Per principal: those that have a box, and all that are not destroyed.
  std::int64_t sessions_max = 1000;
  std::int64_t kept_sessions_max = 10'000;
  std::int64_t idle_seconds = 600;
  std::int64_t retention_seconds = 7 * 86400;
};

// Safe from any thread.
class QuotasInForce {
 public:
  explicit QuotasInForce(Quotas quotas) : quotas_(std::move(quotas)) {}

  [[nodiscard]] Quotas now() const {
    const std::lock_guard lock(mutex_);
    return quotas_;
  }
  void change(const Quotas& quotas) {
    const std::lock_guard lock(mutex_);
    quotas_ = quotas;
  }

 private:
  mutable std::mutex mutex_;
  Quotas quotas_;
};

}  // namespace sessions
