// A Meter counts how many bytes a session may still send and receive. It tells the session's box of
// them as they go, and once when they are used up.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "sandbox/egress/daily_meter.h"

namespace sandbox::egress {

class Meter {
 public:
  // `used_up` is called while somebody counts.
  explicit Meter(std::function<void()> used_up) : used_up_(std::move(used_up)) {}

  void set(std::int64_t bytes_left) { left_ = bytes_left; }
  // Lets `daily` count the bytes too; `used_up` is also called when that is used up.
  void set_daily(std::shared_ptr<DailyMeter> daily) { daily_ = std::move(daily); }
  void add(std::int64_t bytes) {
    left_ -= bytes;
    untold_ += bytes;
    if (daily_) daily_->add(bytes);
    if (counted_) counted_();
    const bool was_told = is_told_;
    is_told_ = is_used_up() || is_used_up_today();
    if (is_told_ && !was_told) used_up_();
  }
  // `counted` is called with each byte that somebody counts, once the box can be told of them.
  void set_counted(std::function<void()> counted) { counted_ = std::move(counted); }
  // Returns how many bytes the box has not been told of.
  [[nodiscard]] std::int64_t untold() const { return untold_; }
  std::int64_t take_untold() { return std::exchange(untold_, 0); }
  [[nodiscard]] bool is_used_up() const { return left_ <= 0; }
  [[nodiscard]] bool is_used_up_today() const { return daily_ && daily_->is_used_up(); }

 private:
  std::int64_t left_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t untold_ = 0;
  std::function<void()> used_up_;
  std::function<void()> counted_;
  std::shared_ptr<DailyMeter> daily_;
  bool is_told_ = false;
};

// A ByteCount counts the bytes of one direction of a connection.
class ByteCount {
 public:
  explicit ByteCount(std::shared_ptr<Meter> meter) : meter_(std::move(meter)) {}

  void operator+=(std::int64_t bytes) {
    value_ += bytes;
    meter_->add(bytes);
  }
  operator std::int64_t() const { return value_; }  // NOLINT(google-explicit-constructor)

 private:
  std::shared_ptr<Meter> meter_;
  std::int64_t value_ = 0;
};

}  // namespace sandbox::egress
