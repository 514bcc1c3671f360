#include "base/work_budget.h"

#include <time.h>

namespace base {
namespace {

// A look at the clock costs about as much as a step.
constexpr std::int64_t kStepsBetweenClocks = 64;

}  // namespace

std::chrono::nanoseconds thread_cpu_time() {
  timespec now{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

WorkBudget::WorkBudget(const Bounds& bounds)
    : steps_left_(bounds.steps), ends_at_(thread_cpu_time() + bounds.cpu_time) {}

bool WorkBudget::take() {
  if (spent_) return false;
  if (steps_left_ == 0) {
    spent_ = true;
  } else if (--steps_left_ % kStepsBetweenClocks == 0) {
    spent_ = thread_cpu_time() > ends_at_;
  }
  return !spent_;
}

}  // namespace base
