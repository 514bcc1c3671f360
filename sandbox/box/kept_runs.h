// Runs that the session's next box is to start anew, where this one ends before they do: their
// requests lie in files beside the session's, which its code does not see. Used from the loop's
// thread.
#pragma once

#include <string>

#include "base/result.h"
#include "sandbox/run.h"

namespace sandbox::box {

class KeptRuns {
 public:
  // `session_fd` is the session's directory, borrowed.
  explicit KeptRuns(int session_fd) : session_fd_(session_fd) {}

  // Whole or not at all, whatever ends this process; a power cut may cost one that has just begun.
  // It takes the place of one of that id.
  [[nodiscard]] base::Status keep(const RunRequest& request) const;
  // It has ended by itself, or as somebody wanted.
  void forget(const std::string& run_id) const;

 private:
  int session_fd_;
};

}  // namespace sandbox::box
