// OomKills knows of how many processes of the session, killed by the kernel for memory, somebody
// has heard. Pure: the caller says how many there were so far.
#pragma once

#include <signal.h>
#include <sys/wait.h>

#include <cstdint>
#include <utility>

namespace sandbox::box {

class OomKills {
 public:
  // Returns whether a process may have ended by such a kill, which its end explains: one that hutch
  // itself has killed explains nothing.
  static bool may_be_one(bool by_us, int wait_status) {
    return WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL && !by_us;
  }
  // The end of an interpreter, or of a run's process, explains one of them.
  void explain_one(std::int64_t so_far) {
    if (explained_ < so_far) ++explained_;
  }
  // Returns whether some are not explained, and takes all as explained from here on.
  [[nodiscard]] bool take_unexplained(std::int64_t so_far) {
    return std::exchange(explained_, so_far) < so_far;
  }

  // A run has been told of all of them.
  void tell_all(std::int64_t so_far) { told_ = so_far; }
  // Returns whether no run has been told of some, and takes all as told from here on.
  [[nodiscard]] bool take_untold(std::int64_t so_far) {
    return std::exchange(told_, so_far) < so_far;
  }

 private:
  std::int64_t told_ = 0;
  std::int64_t explained_ = 0;
};

}  // namespace sandbox::box
