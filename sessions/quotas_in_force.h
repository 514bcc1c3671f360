// The quotas that hold now: a server that reads its configuration anew changes them while sessions
// are made.
#pragma once

#include <mutex>
#include <utility>

#include "sessions/quotas.h"

namespace sessions {

// It is safe from any thread.
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
