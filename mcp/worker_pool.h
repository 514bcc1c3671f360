// A bounded number of threads for tool calls, and bounded queues in front of them: those who ask
// take turns, and nobody gets all of the threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace mcp {

// Safe from many threads. Work does not throw.
class WorkerPool {
 public:
  using Work = std::function<void()>;

  // Of one who asks: at once, and waiting.
  struct Share {
    std::size_t threads_max;
    std::size_t queue_max;
  };

  // Threads are started as they are needed, up to `threads_max`. `queue_max` is of all together.
  WorkerPool(std::size_t threads_max, std::size_t queue_max)
      : WorkerPool(threads_max, queue_max, {threads_max, queue_max}) {}
  WorkerPool(std::size_t threads_max, std::size_t queue_max, Share share)
      : threads_max_(threads_max), queue_max_(queue_max), share_(share) {}
  // Waits for the work that has begun; what still waits is dropped.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False when the queue or the share of `who` is full, or the system gives not even one thread.
  bool run(const std::string& who, Work work);
  bool run(Work work) { return run("", std::move(work)); }

  // Waits until nothing runs or waits. False when time is up.
  bool wait_until_idle(std::chrono::milliseconds patience);

 private:
  struct Asker {
    std::size_t busy = 0;
    std::deque<Work> queue;
  };
  using Askers = std::map<std::string, Asker>;

  void work();
  void add_thread();
  // Whose turn it is; the end when nobody's: nothing waits, or only of those who have their share.
  [[nodiscard]] std::list<Askers::iterator>::iterator next();

  const std::size_t threads_max_;
  const std::size_t queue_max_;
  const Share share_;
  std::mutex mutex_;
  std::condition_variable wakeup_;
  std::condition_variable idle_;
  Askers askers_;                      // with something that runs or waits
  std::list<Askers::iterator> turns_;  // those with something that waits
  std::size_t waiting_ = 0;
  std::size_t busy_ = 0;
  bool stopping_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace mcp
