#include "sessions/patience.h"

#include <poll.h>

namespace sessions {

void pause_for_box() {
  constexpr int kBoxPauseMs = 10;
  (void)::poll(nullptr, 0, kBoxPauseMs);
}

bool wait_until(std::chrono::milliseconds patience, const std::function<bool()>& is_so) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    pause_for_box();
  }
  return true;
}

}  // namespace sessions
