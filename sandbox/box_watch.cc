#include "sandbox/box_watch.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

namespace sandbox {

BoxWatch::~BoxWatch() {
  if (!waiter_.joinable()) return;
  waiter_.request_stop();
  const std::uint64_t one = 1;
  (void)!::write(wakeup_.get(), &one, sizeof one);
}

void BoxWatch::tell(Ended ended) {
  const std::lock_guard lock(tell_mutex_);
  ended_ = std::move(ended);
}

void BoxWatch::add(const std::string& session_id, base::UniqueFd process) {
  if (!process.valid()) return;
  const std::lock_guard lock(mutex_);
  // Without it the next sweep finds what this would have.
  if (!waiter_.joinable() && !start().ok()) return;
  // The epoll set forgets what is closed.
  std::erase_if(watched_, [&](const auto& entry) { return entry.second.session_id == session_id; });
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = ++last_number_;
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, process.get(), &event) != 0) return;
  watched_[last_number_] = {session_id, std::move(process)};
}

base::Status BoxWatch::start() {
  events_ = base::UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  wakeup_ = base::UniqueFd(::eventfd(0, EFD_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 0;
  if (!events_.valid() || !wakeup_.valid() ||
      ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, wakeup_.get(), &event) != 0) {
    return base::Error::from_errno("watch boxes");
  }
  waiter_ = std::jthread([this](const std::stop_token& stop) { wait(stop); });
  return base::done();
}

void BoxWatch::wait(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::array<epoll_event, 64> ready{};
    const int count = ::epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()), -1);
    if (count < 0 && errno != EINTR) return;
    for (int i = 0; i < count && !stop.stop_requested(); ++i) {
      take_ended(ready.at(static_cast<std::size_t>(i)).data.u64);
    }
  }
}

void BoxWatch::take_ended(std::uint64_t number) {
  std::string session_id;
  {
    const std::lock_guard lock(mutex_);
    const auto found = watched_.find(number);
    if (found == watched_.end()) return;
    session_id = std::move(found->second.session_id);
    watched_.erase(found);
  }
  const std::lock_guard lock(tell_mutex_);
  if (ended_) ended_(session_id);
}

}  // namespace sandbox
