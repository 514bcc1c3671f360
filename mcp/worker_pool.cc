#include "mcp/worker_pool.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/work_budget.h"

namespace mcp {
namespace {

// Who has asked before will ask again: what others do is kept small enough for it that long.
constexpr std::chrono::seconds kRemembered{1};
// However many others fill the queue, who has nothing in it finds a place beside it: so large a
// part of it is beside it, and nobody has more than one of those places.
constexpr std::size_t kPartBeside = 10;
// A rest after a long piece of work: the pieces of a flood are short.
constexpr std::chrono::milliseconds kRestMost{100};

}  // namespace

WorkerPool::Current& WorkerPool::current() {
  thread_local Current current;
  return current;
}

// Within another one it is aside already.
WorkerPool::Aside::Aside()
    : current_(current().pool != nullptr && !current().is_aside ? &current() : nullptr) {
  if (current_ == nullptr) return;
  current_->is_aside = true;
  current_->pool->go_aside(current_->asker->second);
}

WorkerPool::Aside::~Aside() {
  if (current_ == nullptr) return;
  current_->pool->come_back(current_->asker->second);
  current_->is_aside = false;
}

std::size_t WorkerPool::Asker::at_work_max(bool beside_others) const {
  return beside_others ? std::min(share.at_work_max, share.at_work_beside_others_max)
                       : share.at_work_max;
}

std::size_t WorkerPool::Asker::room(bool beside_others) const {
  const std::size_t places = at_work + returning;
  const std::size_t most = at_work_max(beside_others);
  return std::min(share.threads_max - std::min(share.threads_max, threads),
                  most - std::min(most, places));
}

bool WorkerPool::Asker::may_begin(bool beside_others) const {
  return room(beside_others) > 0 && !(beside_others && rests());
}

bool WorkerPool::has_several() const { return std::chrono::steady_clock::now() < several_until_; }

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    turns_.clear();
    for (auto& [who, asker] : askers_) {
      asker.queue.clear();
      asker.place_is_free.notify_all();
    }
    waiting_ = 0;
  }
  wakeup_.notify_all();
  threads_.clear();  // joins
}

bool WorkerPool::has_place_for(const std::string& who) const {
  const auto known = askers_.find(who);
  const bool is_first =
      !who.starts_with(kUnknown) && (known == askers_.end() || known->second.queue.empty());
  // The queue is what no thread is free for.
  const std::size_t places = queue_max_ + threads_max_ - busy_;
  if (waiting_ >= places + (is_first ? queue_max_ / kPartBeside : 0)) return false;
  if (known == askers_.end()) return true;
  const Asker& asker = known->second;
  return asker.queue.size() < asker.share.queue_max + asker.room(has_several());
}

bool WorkerPool::run(const std::string& who, Work work) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || !has_place_for(who)) return false;
  if (threads_.empty()) add_thread();
  if (threads_.empty()) return false;
  const auto asker = find_asker(who);
  asker->second.queue.push_back(std::move(work));
  if (asker->second.queue.size() == 1) turns_.push_back(asker);
  ++waiting_;
  call_somebody();
  return true;
}

WorkerPool::Askers::iterator WorkerPool::find_asker(const std::string& who) {
  if (last_asker_ != who && !who.starts_with(kUnknown)) {
    if (last_asker_) several_until_ = std::chrono::steady_clock::now() + kRemembered;
    last_asker_ = who;
  }
  const bool is_unbounded = !unbounded_.empty() && who == unbounded_;
  const auto asker = askers_.try_emplace(who).first;
  Share& share = asker->second.share;
  share = is_unbounded ? Share{share_.threads_max, queue_max_ / 2} : share_;
  if (who.starts_with(kUnknown)) {
    share.at_work_max = std::min(share.at_work_max, share.at_work_beside_others_max);
    share.queue_max = share.queue_max_of_unknown.value_or(share.queue_max);
  }
  return asker;
}

void WorkerPool::leave(Askers::iterator asker) {
  --asker->second.at_work;
  if (asker->second.returning > 0) asker->second.place_is_free.notify_one();
  if (--asker->second.threads == 0 && asker->second.queue.empty()) askers_.erase(asker);
}

bool WorkerPool::pass_to(const std::string& who) {
  Current& work = current();
  return work.pool == nullptr || work.pool->pass(work, who);
}

bool WorkerPool::pass(Current& work, const std::string& who) {
  const std::lock_guard lock(mutex_);
  if (work.asker->first == who) return true;
  const auto asker = find_asker(who);
  if (!asker->second.may_begin(has_several())) return false;
  ++asker->second.threads;
  ++asker->second.at_work;
  leave(std::exchange(work.asker, asker));
  work.begun = base::thread_cpu_time();
  call_somebody();
  return true;
}

void WorkerPool::add_thread() {
  try {
    threads_.emplace_back([this] { this->work(); });
  } catch (const std::system_error&) {
    // The system has no more threads for us: those that are there have more to do.
  }
}

// A thread that is called may be on its way already: whoever takes work calls the next one.
void WorkerPool::call_somebody() {
  if (stopping_ || waiting_ == 0) return;
  // Without room yet, one thread waits for the time when there is more.
  const bool beside_others = has_several();
  if (next(beside_others) == turns_.end() && (!beside_others || watched_until_ <= look_again_at()))
    return;
  if (busy_ == threads_.size() && threads_.size() < threads_max_) add_thread();
  wakeup_.notify_one();
}

bool WorkerPool::wait_until_idle(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, patience, [this] { return waiting_ == 0 && busy_ == 0; });
}

std::list<WorkerPool::Askers::iterator>::iterator WorkerPool::next(bool beside_others) {
  return std::find_if(turns_.begin(), turns_.end(), [&](const Askers::iterator& asker) {
    return asker->second.may_begin(beside_others);
  });
}

std::chrono::steady_clock::time_point WorkerPool::look_again_at() const {
  auto at = several_until_;
  for (const Askers::iterator& asker : turns_) {
    if (asker->second.rests()) at = std::min(at, asker->second.rests_until);
  }
  return at;
}

void WorkerPool::go_aside(Asker& asker) {
  const std::lock_guard lock(mutex_);
  --asker.at_work;
  if (asker.returning > 0) asker.place_is_free.notify_one();
  call_somebody();
}

void WorkerPool::come_back(Asker& asker) {
  std::unique_lock lock(mutex_);
  ++asker.returning;
  while (!stopping_) {
    const bool beside_others = has_several();
    if (asker.at_work < asker.at_work_max(beside_others)) break;
    // There is more room, too, once nobody else has asked for a while.
    if (beside_others) {
      asker.place_is_free.wait_until(lock, several_until_);
    } else {
      asker.place_is_free.wait(lock);
    }
  }
  --asker.returning;
  ++asker.at_work;
}

std::optional<WorkerPool::Askers::iterator> WorkerPool::take_turn(
    std::unique_lock<std::mutex>& lock) {
  while (!stopping_) {
    const bool beside_others = has_several();
    const auto turn = next(beside_others);
    if (turn != turns_.end()) {
      const auto asker = *turn;
      turns_.erase(turn);
      return asker;
    }
    const auto until = look_again_at();
    if (beside_others && waiting_ > 0 && until < watched_until_) {
      watched_until_ = until;
      wakeup_.wait_until(lock, until);
      if (watched_until_ == until) watched_until_ = kNever;
    } else {
      wakeup_.wait(lock);
    }
  }
  return std::nullopt;
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto taken = take_turn(lock);
    if (!taken) return;
    const auto asker = *taken;
    Work work = std::move(asker->second.queue.front());
    asker->second.queue.pop_front();
    // The others first, before it is this one's turn again.
    if (!asker->second.queue.empty()) turns_.push_back(asker);
    --waiting_;
    ++busy_;
    ++asker->second.threads;
    ++asker->second.at_work;
    call_somebody();
    lock.unlock();
    current() = {this, asker, false, base::thread_cpu_time()};
    work();
    work = nullptr;  // all that it holds is gone before it counts as done
    const Current done = std::exchange(current(), {});
    const auto worked = base::thread_cpu_time() - done.begun;
    lock.lock();
    Asker& last = done.asker->second;
    const bool is_bounded = last.share.at_work_beside_others_max != kNoMaximum;
    if (is_bounded && !last.queue.empty()) {
      const auto rest = std::min<std::chrono::nanoseconds>(worked, kRestMost);
      last.rests_until = std::max(last.rests_until, std::chrono::steady_clock::now() + rest);
    }
    --busy_;
    leave(done.asker);  // who had its share may have a turn again; this thread looks itself
    if (waiting_ == 0 && busy_ == 0) idle_.notify_all();
  }
}

}  // namespace mcp
