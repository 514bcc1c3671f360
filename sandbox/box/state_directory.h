// The directory of a session in which stored state lies, beside its files. It is made once there is
// something to store: most sessions end before. Used from the loop's thread; fd() from any once it
// is there.
#pragma once

#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace sandbox::box {

class StateDirectory {
 public:
  // `session_fd` is the session's directory, borrowed. Fails where there is one that cannot be
  // opened: whoever took it for none would store over what is in it.
  static base::Result<StateDirectory> open(int session_fd);

  // Returns its descriptor or, where nothing was stored yet, -1, with which each call fails.
  [[nodiscard]] int fd() const { return fd_.get(); }
  // Opens what a server has made meanwhile, where it can.
  void look();
  // Makes it where it is not there.
  base::Status make();
  // On its file system the state lies, or will.
  [[nodiscard]] int session_fd() const { return session_fd_; }

  // Says on the disk that the box has ended since all that the session knows is stored.
  void set_rests();
  // Says that it has a box again. Returns whether the one before rested.
  bool take_rests();
  // Deletes all that is in it. Returns whether there was something that a box has stored.
  bool clear();

 private:
  StateDirectory(int session_fd, base::UniqueFd fd) : session_fd_(session_fd), fd_(std::move(fd)) {}

  int session_fd_;
  base::UniqueFd fd_;
};

}  // namespace sandbox::box
