#include "sandbox/box/event_loop.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

namespace sandbox::box {

using base::Error;

base::Result<std::unique_ptr<EventLoop>> EventLoop::create() {
  base::UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return Error::from_errno("epoll_create1");
  return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll)));
}

// Drops the actions while the loop is whole: the objects that they hold may cancel timers and
// forget descriptors as they go.
EventLoop::~EventLoop() {
  while (!timers_.empty()) {
    const auto ending = std::exchange(timers_, {});
    timer_times_.clear();
  }
}

base::Status EventLoop::watch(int fd, std::uint32_t events, Handler handler) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return Error::from_errno("epoll_ctl add");
  }
  handlers_[fd] = std::make_shared<Handler>(std::move(handler));
  return base::done();
}

base::Status EventLoop::change(int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0) {
    return Error::from_errno("epoll_ctl change");
  }
  return base::done();
}

void EventLoop::forget(int fd) {
  if (handlers_.erase(fd) == 0) return;
  // Can only fail for a descriptor that is not in the set, and then there is nothing to remove.
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

EventLoop::TimerId EventLoop::after(std::chrono::milliseconds delay, std::function<void()> action) {
  const TimerId id = ++last_timer_;
  const auto at = Clock::now() + delay;
  timers_.emplace(std::pair{at, id}, std::move(action));
  timer_times_[id] = at;
  return id;
}

void EventLoop::cancel(TimerId& id) {
  const auto found = timer_times_.find(id);
  if (found != timer_times_.end()) {
    timers_.erase({found->second, id});
    timer_times_.erase(found);
  }
  id = 0;
}

int EventLoop::next_timeout_ms() const {
  if (timers_.empty()) return -1;
  const auto left = timers_.begin()->first.first - Clock::now();
  // Rounded up, so that the timer is due when epoll_wait() returns.
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<decltype(ms)>(ms, 0, 3'600'000));
}

void EventLoop::run_timers() {
  const auto now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first.first <= now && !stopped_) {
    const auto action = std::move(timers_.begin()->second);
    timer_times_.erase(timers_.begin()->first.second);
    timers_.erase(timers_.begin());
    action();
  }
}

base::Status EventLoop::run() {
  while (!stopped_) TRY(turn());
  return base::done();
}

base::Status EventLoop::turn() {
  epoll_event events[64];
  const int count = ::epoll_wait(epoll_.get(), events, 64, next_timeout_ms());
  if (count < 0 && errno != EINTR) return Error::from_errno("epoll_wait");
  for (int i = 0; i < count && !stopped_; ++i) {
    const auto found = handlers_.find(events[i].data.fd);
    if (found == handlers_.end()) continue;  // forgotten by an earlier handler of this round
    const auto handler = found->second;      // keeps it alive while it runs
    (*handler)(events[i].events);
  }
  run_timers();
  return base::done();
}

}  // namespace sandbox::box
