// Bounds how often each principal may call, where the operator wants that.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace mcp {

// A minute's calls may come at once; from then on they come back evenly. Safe from many threads.
class CallRate {
 public:
  using Clock = std::chrono::steady_clock;

  // With 0 nobody is bounded, and neither is `unbounded` ever.
  CallRate(std::size_t calls_per_minute, std::string unbounded)
      : most_(static_cast<double>(calls_per_minute)), unbounded_(std::move(unbounded)) {}

  // Takes one call; else in how many seconds there will be one.
  std::optional<int> take(const std::string& who, Clock::time_point now = Clock::now()) {
    if (most_ == 0 || who == unbounded_) return std::nullopt;
    const std::lock_guard lock(mutex_);
    if (left_.size() >= kKnownMax) forget_rested(now);
    Left& left = left_.try_emplace(who, Left{most_, now}).first->second;
    left.calls = calls_at(left, now);
    left.since = now;
    if (left.calls < 1) return static_cast<int>(std::ceil((1 - left.calls) / per_second()));
    left.calls -= 1;
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kKnownMax = 1000;  // more only while each of them has called lately
  struct Left {
    double calls;
    Clock::time_point since;
  };

  [[nodiscard]] double per_second() const { return most_ / 60; }
  [[nodiscard]] double calls_at(const Left& left, Clock::time_point now) const {
    const double seconds = std::chrono::duration<double>(now - left.since).count();
    return std::min(most_, left.calls + seconds * per_second());
  }
  // Forgets whoever may call as often again as somebody new.
  void forget_rested(Clock::time_point now) {
    std::erase_if(left_, [&](const auto& one) { return calls_at(one.second, now) >= most_; });
  }

  const double most_;
  const std::string unbounded_;
  std::mutex mutex_;
  std::map<std::string, Left> left_;
};

}  // namespace mcp
