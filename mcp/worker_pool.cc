#include "mcp/worker_pool.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace mcp {

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    turns_.clear();
    for (auto& [who, asker] : askers_) asker.queue.clear();
    waiting_ = 0;
  }
  wakeup_.notify_all();
  threads_.clear();  // joins
}

bool WorkerPool::run(const std::string& who, Work work) {
  const std::lock_guard lock(mutex_);
  // The queue is what no thread is free for.
  if (stopping_ || waiting_ >= queue_max_ + threads_max_ - busy_) return false;
  const auto known = askers_.find(who);
  if (known != askers_.end()) {
    const Asker& asker = known->second;
    const std::size_t free = share_.threads_max - std::min(share_.threads_max, asker.busy);
    if (asker.queue.size() >= share_.queue_max + free) return false;
  }
  if (busy_ + waiting_ >= threads_.size() && threads_.size() < threads_max_) add_thread();
  if (threads_.empty()) return false;
  const auto asker = askers_.try_emplace(who).first;
  asker->second.queue.push_back(std::move(work));
  if (asker->second.queue.size() == 1) turns_.push_back(asker);
  ++waiting_;
  wakeup_.notify_one();
  return true;
}

void WorkerPool::add_thread() {
  try {
    threads_.emplace_back([this] { this->work(); });
  } catch (const std::system_error&) {
    // The system has no more threads for us: those that are there have more to do.
  }
}

bool WorkerPool::wait_until_idle(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, patience, [this] { return waiting_ == 0 && busy_ == 0; });
}

std::list<WorkerPool::Askers::iterator>::iterator WorkerPool::next() {
  return std::find_if(turns_.begin(), turns_.end(), [this](const Askers::iterator& asker) {
    return asker->second.busy < share_.threads_max;
  });
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    auto turn = turns_.end();
    wakeup_.wait(lock, [&] { return stopping_ || (turn = next()) != turns_.end(); });
    if (stopping_) return;
    const auto asker = *turn;
    turns_.erase(turn);
    Work work = std::move(asker->second.queue.front());
    asker->second.queue.pop_front();
    // The others first, before it is this one's turn again.
    if (!asker->second.queue.empty()) turns_.push_back(asker);
    --waiting_;
    ++busy_;
    ++asker->second.busy;
    lock.unlock();
    work();
    work = nullptr;  // what it holds is gone before it counts as done
    lock.lock();
    --busy_;
    // One that had its share may have a turn again; this thread looks itself.
    if (--asker->second.busy == 0 && asker->second.queue.empty()) askers_.erase(asker);
    if (waiting_ == 0 && busy_ == 0) idle_.notify_all();
  }
}

}  // namespace mcp
