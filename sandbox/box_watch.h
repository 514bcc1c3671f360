// Notices when boxes end, however they end: a thread waits for their processes.
//
// A frozen process in a box that was killed does not end with it, and its session's row says that
// it is paused: whoever hears of it here puts both right at once. Safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/result.h"

namespace sandbox {

class BoxWatch {
 public:
  using Ended = std::function<void(const std::string& session_id)>;

  BoxWatch() = default;
  ~BoxWatch();
  BoxWatch(const BoxWatch&) = delete;
  BoxWatch& operator=(const BoxWatch&) = delete;

  // `ended` is called from the thread of the watch, for one box after the other. An empty one ends
  // the calls: none is on when this returns.
  void tell(Ended ended);

  // Adds the pidfd of a session's box, in place of an earlier one's; one that is not valid is
  // nobody to wait for.
  void add(const std::string& session_id, base::UniqueFd process);

 private:
  base::Status start();
  void wait(const std::stop_token& stop);
  void take_ended(std::uint64_t number);

  struct Watched {
    std::string session_id;
    base::UniqueFd process;
  };

  std::mutex tell_mutex_;  // held during a call
  Ended ended_;
  std::mutex mutex_;                          // guards what follows
  std::map<std::uint64_t, Watched> watched_;  // by numbers that never come again
  std::uint64_t last_number_ = 0;             // that of the wakeup
  base::UniqueFd events_;
  base::UniqueFd wakeup_;
  std::jthread waiter_;
};

}  // namespace sandbox
