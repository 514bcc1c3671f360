// Sessions whose box has ended since somebody has cleared up. Safe from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

namespace sessions {

class EndedBoxes {
 public:
  void add(const std::string& session_id);
  // Waits until there are some, and no longer than until then, or until `stop` is requested.
  // Returns whether there are some.
  bool wait_until(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop);
  // Returns those that there are, which are the caller's.
  std::vector<std::string> take();

 private:
  std::mutex mutex_;
  std::condition_variable_any wakeup_;
  std::vector<std::string> ids_;
};

}  // namespace sessions
