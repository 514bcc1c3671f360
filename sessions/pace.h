// Decides how often somebody's expensive work may begin: a while freely, then for a share of the
// time. Pure.
#pragma once

#include <algorithm>
#include <chrono>

namespace sessions {

class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  // In the long run work has the time once in so many.
  static constexpr int kOneTimeIn = 4;
  // So much of it is free after a rest.
  static constexpr std::chrono::milliseconds kFree{100};
  // Work that takes longer waits for others meanwhile, which costs nobody anything.
  static constexpr std::chrono::milliseconds kCountedMax{50};

  [[nodiscard]] Clock::time_point next() const { return paid_at_ - kOneTimeIn * kFree; }

  [[nodiscard]] bool is_rested(Clock::time_point now) const { return now >= paid_at_; }

  void add(Clock::time_point begun, Clock::time_point ended) {
    const auto counted = std::min<Clock::duration>(ended - begun, kCountedMax);
    paid_at_ = std::max(paid_at_, begun) + kOneTimeIn * counted;
  }

 private:
  Clock::time_point paid_at_{};
};

}  // namespace sessions
