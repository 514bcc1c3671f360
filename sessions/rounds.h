// Answers that cost much, which many of one principal may want at the same time: each round of
// asking is for all who waited when it began, and rounds keep a pace. Nobody gets an answer from a
// round that had begun before they asked.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "sessions/pace.h"

namespace sessions {

// It is safe from many threads. `Answer` is copied for each who asked.
template <typename Answer>
class Rounds {
 public:
  // Waits for the next round of `key`, which calls `ask`: this one's, or that of another who asks.
  template <typename Ask>
  base::Result<Answer> of(const std::string& key, const Ask& ask) {
    std::unique_lock lock(mutex_);
    Asked& asked = asked_[key];
    if (asked.next) {
      const std::shared_ptr<Round> round = asked.next;
      round->ended.wait(lock, [&round] { return round->is_over; });
      return round->answer;
    }
    const auto round = asked.next = std::make_shared<Round>();
    asked.free.wait(lock, [&asked] { return !asked.is_busy; });
    while (Pace::Clock::now() < asked.pace.next()) asked.free.wait_until(lock, asked.pace.next());
    asked.is_busy = true;
    asked.next = nullptr;
    const Ending ending(*this, lock, key, *round);
    lock.unlock();
    auto answer = ask();
    lock.lock();
    round->answer = answer;
    return answer;
  }

 private:
  struct Round {
    base::Result<Answer> answer =
        base::error(base::Error::Kind::kUnavailable, "another call failed for both: try again");
    bool is_over = false;
    std::condition_variable ended;
  };
  struct Asked {
    std::shared_ptr<Round> next;  // nobody waits for one where there is none
    bool is_busy = false;
    Pace pace;
    std::condition_variable free;
  };

  // An Ending ends the round, also where `ask` throws.
  class Ending {
   public:
    Ending(Rounds& rounds, std::unique_lock<std::mutex>& lock, const std::string& key, Round& round)
        : rounds_(rounds), lock_(lock), key_(key), round_(round) {}
    ~Ending() {
      if (!lock_.owns_lock()) lock_.lock();
      Asked& asked = rounds_.asked_[key_];
      asked.pace.add(begun_, Pace::Clock::now());
      asked.is_busy = false;
      asked.free.notify_all();
      round_.is_over = true;
      round_.ended.notify_all();
      rounds_.forget_rested();
    }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;

   private:
    Rounds& rounds_;
    std::unique_lock<std::mutex>& lock_;
    const std::string& key_;
    Round& round_;
    const Pace::Clock::time_point begun_ = Pace::Clock::now();
  };

  void forget_rested() {
    const auto now = Pace::Clock::now();
    std::erase_if(asked_, [now](const auto& entry) {
      const Asked& asked = entry.second;
      return !asked.next && !asked.is_busy && asked.pace.is_rested(now);
    });
  }

  std::mutex mutex_;
  std::map<std::string, Asked> asked_;
};

}  // namespace sessions
