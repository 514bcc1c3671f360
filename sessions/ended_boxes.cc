#include "sessions/ended_boxes.h"

#include <utility>

namespace sessions {

void EndedBoxes::add(const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  ids_.push_back(session_id);
  wakeup_.notify_all();
}

bool EndedBoxes::wait_until(std::chrono::steady_clock::time_point deadline,
                            const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  return wakeup_.wait_until(lock, stop, deadline, [this] { return !ids_.empty(); });
}

std::vector<std::string> EndedBoxes::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ids_, {});
}

}  // namespace sessions
