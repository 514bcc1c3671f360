// An EventLoop is one thread that waits for descriptors and timers. epoll(7).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

#include "base/fd.h"
#include "base/result.h"

namespace sandbox::box {

class EventLoop {
 public:
  using Handler = std::function<void(std::uint32_t events)>;
  using TimerId = std::uint64_t;  // 0 is none

  static base::Result<std::unique_ptr<EventLoop>> create();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // `fd` stays the caller's, who calls forget() before closing it. A handler may watch and forget
  // any descriptor, its own too.
  base::Status watch(int fd, std::uint32_t events, Handler handler);
  base::Status change(int fd, std::uint32_t events);
  void forget(int fd);

  TimerId after(std::chrono::milliseconds delay, std::function<void()> action);
  void cancel(TimerId& id);  // sets it to 0

  // Runs until stop(). Gives an Error only when epoll itself fails.
  base::Status run();
  // Waits once, for what comes first, and handles what is there.
  base::Status turn();
  void stop() { stopped_ = true; }

 private:
  explicit EventLoop(base::UniqueFd epoll) : epoll_(std::move(epoll)) {}

  using Clock = std::chrono::steady_clock;
  [[nodiscard]] int next_timeout_ms() const;
  void run_timers();

  base::UniqueFd epoll_;
  std::unordered_map<int, std::shared_ptr<Handler>> handlers_;
  std::map<std::pair<Clock::time_point, TimerId>, std::function<void()>> timers_;
  std::unordered_map<TimerId, Clock::time_point> timer_times_;
  TimerId last_timer_ = 0;
  bool stopped_ = false;
};

}  // namespace sandbox::box
