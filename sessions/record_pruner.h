// Deletes records in small steps: of past runs, and of sessions that were deleted. Safe from any
// thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "sessions/ground.h"
#include "sessions/past_table.h"

namespace sessions {

class RecordPruner {
 public:
  RecordPruner(const Ground& ground, PastTable& past) : ground_(ground), past_(past) {}

  // Deletes what is older or more than the settings keep, as far as a bounded number of steps goes.
  void prune(const std::stop_token& stop, const Moment& now);

 private:
  bool prune_some_runs(std::int64_t ended_before);
  void remove_run_files(const std::string& session_id, const std::vector<std::string>& ids) const;
  bool forget_some_sessions(std::int64_t ended_before, const std::stop_token& stop) const;

  const Ground& ground_;
  PastTable& past_;
  std::mutex mutex_;
  OldRun pruned_up_to_;
};

}  // namespace sessions
