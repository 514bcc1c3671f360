// Bounds what a look at something that hostile code has made may cost: that code chooses how much
// there is to look at.
#pragma once

#include <chrono>
#include <cstdint>

namespace base {

// Returns the processor time that the calling thread has used. Waiting for a processor is not
// counted.
std::chrono::nanoseconds thread_cpu_time();

// A WorkBudget bounds the steps and the processor time of one thread, which makes it and takes the
// steps.
class WorkBudget {
 public:
  struct Bounds {
    std::int64_t steps = 0;
    std::chrono::nanoseconds cpu_time{};
  };

  explicit WorkBudget(const Bounds& bounds);

  // Takes one step. Returns false, from then on, once there were more steps or they took longer
  // than the bounds say.
  bool take();
  [[nodiscard]] bool spent() const { return spent_; }

 private:
  std::int64_t steps_left_;
  std::chrono::nanoseconds ends_at_;
  bool spent_ = false;
};

}  // namespace base
