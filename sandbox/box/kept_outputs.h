// Bounds by the session's disk limit what its runs have printed, shown and drawn, all together. Of
// the oldest, the middle of long streams goes first, and the files of outputs.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "sandbox/dropped_outputs.h"

namespace sandbox::box {

class KeptOutputs {
 public:
  // Both are borrowed: the directory of the session, where what was dropped is counted, and that of
  // the runs. Nothing of a box has written in them.
  KeptOutputs(int session_fd, int runs_fd, std::int64_t bytes_max)
      : session_fd_(session_fd), runs_fd_(runs_fd), bytes_max_(bytes_max) {}

  // A run has ended: counts it, and makes room where the bound is passed.
  void add(const std::string& run_id);
  // Counts `bytes` that processes which the run has left behind have printed since, and makes room.
  void grew(const std::string& run_id, std::int64_t bytes);

 private:
  struct Kept {
    std::string run_id;
    std::int64_t bytes = 0;
  };
  void find_earlier(const std::string& than);
  void make_room();

  const int session_fd_;
  const int runs_fd_;
  const std::int64_t bytes_max_;
  bool found_earlier_ = false;
  std::deque<Kept> kept_;  // oldest first
  std::int64_t bytes_ = 0;
  DroppedOutputs uncounted_;
};

}  // namespace sandbox::box
