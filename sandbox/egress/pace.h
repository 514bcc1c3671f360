// So many of something a second and no more: whoever is too early waits.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <boost/asio/steady_timer.hpp>

#include "sandbox/egress/asio.h"

namespace sandbox::egress {

class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  // `at_once` of them may come together after a while without any.
  Pace(asio::io_context& context, std::int64_t per_second, std::int64_t at_once)
      : context_(context) {
    set(per_second, at_once);
  }

  void set(std::int64_t per_second, std::int64_t at_once) {
    interval_ = std::chrono::nanoseconds(std::chrono::seconds(1)) / per_second;
    slack_ = interval_ * at_once;
  }

  Task<void> turn() {
    const auto now = Clock::now();
    next_ = std::max(next_, now - slack_) + interval_;
    if (next_ <= now) co_return;
    asio::steady_timer timer(context_, next_);
    error_code unused;
    co_await timer.async_wait(into(unused));
  }

 private:
  asio::io_context& context_;
  std::chrono::nanoseconds interval_;
  std::chrono::nanoseconds slack_;
  Clock::time_point next_;
};

}  // namespace sandbox::egress
