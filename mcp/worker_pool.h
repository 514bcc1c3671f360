// A bounded number of threads for tool calls, and bounded queues in front of them: those who ask
// take turns, and nobody gets all of the threads. What a call waits for without working, such as
// the end of a run, takes nobody's place. While others ask, who has more waiting than is at work
// rests after each piece of work as long as that has kept a processor.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace mcp {

// It is safe from many threads. Work does not throw.
class WorkerPool {
  struct Current;

 public:
  using Work = std::function<void()>;

  static constexpr std::size_t kNoMaximum = std::numeric_limits<std::size_t>::max();

  // Limits what one who asks may have: `threads_max` threads at once, those of work aside included;
  // `queue_max` pieces of work that wait for their turn; `at_work_max` at work at once; and
  // `at_work_beside_others_max` at work at once while others ask, too.
  struct Share {
    std::size_t threads_max;
    std::size_t queue_max;
    std::size_t at_work_max = kNoMaximum;
    std::size_t at_work_beside_others_max = kNoMaximum;
    std::optional<std::size_t> queue_max_of_unknown = {};  // in place of `queue_max`
  };

  // Begins the name of those who are not known before their work has begun: pass_to() says who they
  // are. Until then they count as nobody else who asks, have no more at work than is allowed beside
  // others, no place beside a full queue, and may have a part of it of their own.
  static constexpr char kUnknown = '?';

  // An Aside is held by work while it waits for what is none of its own: others may be at work
  // meanwhile. Its end waits for a place again. On a thread that is no pool's it does nothing.
  class Aside {
   public:
    Aside();
    ~Aside();
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;

   private:
    Current* const current_;  // none where it does nothing
  };

  // Threads are started as they are needed, up to `threads_max`. `queue_max` is of all together;
  // a tenth as many places are beside it, for one piece of work each of those of whom none waits.
  WorkerPool(std::size_t threads_max, std::size_t queue_max)
      : WorkerPool(threads_max, queue_max, {threads_max, queue_max}) {}
  // `unbounded` has whatever is at work, but leaves others half of the queue and as many threads as
  // anybody does.
  WorkerPool(std::size_t threads_max, std::size_t queue_max, Share share,
             std::string unbounded = "")
      : threads_max_(threads_max),
        queue_max_(queue_max),
        share_(share),
        unbounded_(std::move(unbounded)) {}
  // Waits for the work that has begun; what still waits is dropped.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Returns false when the queue or the share of `who` is full, or the system gives not even one
  // thread.
  bool run(const std::string& who, Work work);
  bool run(Work work) { return run("", std::move(work)); }

  // Has the work of this thread count as that of `who` from now on. False, and nothing has changed:
  // `who` has its share at work already. True on a thread that is no pool's.
  static bool pass_to(const std::string& who);

  // Waits until nothing runs or waits. False when time is up.
  bool wait_until_idle(std::chrono::milliseconds patience);

 private:
  struct Asker {
    Share share;
    std::size_t threads = 0;
    std::size_t at_work = 0;
    std::size_t returning = 0;                            // from aside
    std::chrono::steady_clock::time_point rests_until{};  // while others ask, too
    // Wakes one of those: hundreds that each woke for one place would keep the processors from all.
    std::condition_variable place_is_free;
    std::deque<Work> queue;

    [[nodiscard]] std::size_t at_work_max(bool beside_others) const;
    // Returns how much more may begin: whoever comes back goes first.
    [[nodiscard]] std::size_t room(bool beside_others) const;
    [[nodiscard]] bool may_begin(bool beside_others) const;
    [[nodiscard]] bool rests() const { return std::chrono::steady_clock::now() < rests_until; }
  };
  using Askers = std::map<std::string, Asker>;
  // Says what this thread works on; `pool` is null where it is no pool's or has no work.
  struct Current {
    WorkerPool* pool = nullptr;
    Askers::iterator asker{};
    bool is_aside = false;
    std::chrono::nanoseconds begun{};  // as the asker's: by this thread's processor time
  };
  static Current& current();

  [[nodiscard]] bool has_place_for(const std::string& who) const;
  void work();
  // Notes that `who` asks, and returns its entry.
  Askers::iterator find_asker(const std::string& who);
  // Takes a thread's work away from it, and the asker itself when it was all it had.
  void leave(Askers::iterator asker);
  bool pass(Current& work, const std::string& who);
  void go_aside(Asker& asker);
  void come_back(Asker& asker);
  // Gives whose work is to be done next, once there is any that may begin; nothing: the pool ends.
  std::optional<Askers::iterator> take_turn(std::unique_lock<std::mutex>& lock);
  void add_thread();
  // Has somebody begin what can begin, if there is anything.
  void call_somebody();
  // Returns whether two have asked a moment ago.
  [[nodiscard]] bool has_several() const;
  // Returns whose turn it is; the end when nobody's: nothing waits, or only work of those who have
  // their share or rest.
  [[nodiscard]] std::list<Askers::iterator>::iterator next(bool beside_others);
  // Returns when that may change without anybody's doing: a rest ends, or nobody else has asked
  // for a while.
  [[nodiscard]] std::chrono::steady_clock::time_point look_again_at() const;

  static constexpr auto kNever = std::chrono::steady_clock::time_point::max();

  const std::size_t threads_max_;
  const std::size_t queue_max_;
  const Share share_;
  const std::string unbounded_;
  std::mutex mutex_;
  std::condition_variable wakeup_;
  std::condition_variable idle_;
  Askers askers_;                      // with something that runs or waits
  std::list<Askers::iterator> turns_;  // askers with something that waits
  std::optional<std::string> last_asker_;
  std::chrono::steady_clock::time_point several_until_{};
  // It says when the thread that waits for the end of a rest looks again; kNever: none waits for
  // that.
  std::chrono::steady_clock::time_point watched_until_ = kNever;
  std::size_t waiting_ = 0;
  std::size_t busy_ = 0;  // threads that have work, aside or not
  bool stopping_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace mcp
