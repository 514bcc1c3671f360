// Counts how many bytes the sessions of one principal may still send and receive on this day (UTC).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace sandbox::egress {

struct DailyAllowance {
  std::int64_t day = 0;  // days since the epoch
  std::int64_t bytes_left = 0;
  std::int64_t bytes_a_day = 0;
};

class DailyMeter {
 public:
  explicit DailyMeter(std::function<std::int64_t()> today) : today_(std::move(today)) {}

  // Several sessions say it, each as it was when its box began: what has been counted here since is
  // not given back.
  void allow(const DailyAllowance& allowance) {
    begin_day();
    if (is_bounded_ && allowance.day < now_.day) {  // that day is over
      now_.bytes_a_day = allowance.bytes_a_day;
      return;
    }
    const bool is_same_day = is_bounded_ && allowance.day == now_.day;
    // The operator may have given more of it since.
    const std::int64_t left = now_.bytes_left + allowance.bytes_a_day - now_.bytes_a_day;
    now_ = allowance;
    if (is_same_day) now_.bytes_left = std::min(left, allowance.bytes_left);
    is_bounded_ = true;
  }
  void add(std::int64_t bytes) {
    begin_day();
    now_.bytes_left -= bytes;
  }
  // Returns whether it knows of this day what nobody else may know yet.
  [[nodiscard]] bool counts_today() {
    begin_day();
    return is_bounded_ && now_.bytes_left < now_.bytes_a_day;
  }
  [[nodiscard]] bool is_used_up() {
    begin_day();
    return is_bounded_ && now_.bytes_left <= 0;
  }

 private:
  void begin_day() {
    if (!is_bounded_) return;
    const std::int64_t day = today_();
    if (day > now_.day) now_ = {day, now_.bytes_a_day, now_.bytes_a_day};
  }

  std::function<std::int64_t()> today_;
  DailyAllowance now_;
  bool is_bounded_ = false;
};

}  // namespace sandbox::egress
