#include "sandbox/box/side_thread.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>

namespace sandbox::box {

using base::Error;

base::Result<std::unique_ptr<SideThread>> SideThread::create(EventLoop& loop) {
  base::UniqueFd finished(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!finished.valid()) return Error::from_errno("eventfd");
  std::unique_ptr<SideThread> side(new SideThread(loop, std::move(finished)));
  TRY(loop.watch(side->finished_.get(), EPOLLIN,
                 [raw = side.get()](std::uint32_t) { raw->on_finished(); }));
  return side;
}

SideThread::~SideThread() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  loop_.forget(finished_.get());
}

void SideThread::run(Work work) {
  busy_ = true;
  if (!thread_.joinable() && !start_thread()) {
    const auto after = work(std::stop_token());
    busy_ = false;
    return after();
  }
  {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
  }
  given_.notify_one();
}

void SideThread::finish() {
  pollfd waited{finished_.get(), POLLIN, 0};
  while (busy_) {
    if (::poll(&waited, 1, -1) == 1) on_finished();
  }
}

bool SideThread::finish_within(std::chrono::milliseconds most) {
  using Clock = std::chrono::steady_clock;
  pollfd waited{finished_.get(), POLLIN, 0};
  for (const auto end = Clock::now() + most; busy_;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    const int found = ::poll(&waited, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (found == 1) on_finished();
    if (found == 0) return false;
  }
  return true;
}

bool SideThread::start_thread() {
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { work_until(stop); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void SideThread::work_until(const std::stop_token& stop) {
  while (true) {
    Work work;
    {
      std::unique_lock lock(mutex_);
      if (!given_.wait(lock, stop, [this] { return work_ != nullptr; })) return;
      work = std::exchange(work_, nullptr);
    }
    auto after = work(stop);
    {
      const std::lock_guard lock(mutex_);
      after_ = std::move(after);
    }
    constexpr std::uint64_t kOne = 1;
    (void)!::write(finished_.get(), &kOne, sizeof kOne);  // cannot be full: it is read in between
  }
}

void SideThread::on_finished() {
  std::uint64_t count = 0;
  (void)!::read(finished_.get(), &count, sizeof count);
  std::function<void()> after;
  {
    const std::lock_guard lock(mutex_);
    after = std::exchange(after_, nullptr);
  }
  busy_ = false;
  if (after) after();
}

}  // namespace sandbox::box
