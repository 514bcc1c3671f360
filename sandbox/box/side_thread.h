// Work beside the event loop, for what a hostile session can make slow: the loop goes on meanwhile.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box/event_loop.h"

namespace sandbox::box {

// It is used from the loop's thread.
class SideThread {
 public:
  // Runs on the other thread, and gives back what is then done on the loop's. Stops early when its
  // token says so: the end of this object waits for it.
  using Work = std::function<std::function<void()>(const std::stop_token& stop)>;

  static base::Result<std::unique_ptr<SideThread>> create(EventLoop& loop);
  ~SideThread();
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  // It does one work at a time. REQUIRES: !busy(). The thread is started by the first; where the
  // system gives none, the loop waits for the work.
  void run(Work work);
  [[nodiscard]] bool busy() const { return busy_; }
  // Waits for the work that is on, and does what it gave back.
  void finish();
  // Waits no longer than that. Returns whether nothing is on any more.
  [[nodiscard]] bool finish_within(std::chrono::milliseconds most);

 private:
  SideThread(EventLoop& loop, base::UniqueFd finished)
      : loop_(loop), finished_(std::move(finished)) {}

  [[nodiscard]] bool start_thread();
  void work_until(const std::stop_token& stop);
  void on_finished();

  EventLoop& loop_;
  const base::UniqueFd finished_;  // an eventfd
  bool busy_ = false;
  std::mutex mutex_;
  std::condition_variable_any given_;
  Work work_;                    // guarded by mutex_
  std::function<void()> after_;  // guarded by mutex_
  std::jthread thread_;
};

}  // namespace sandbox::box
