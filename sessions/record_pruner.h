// Deletes records in small steps: of past runs, and of sessions that were deleted. What is too old
// goes, and where all have too much, the oldest of the principal who has most: nobody loses any to
// the others who has no more than an equal part. Safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
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
  bool prune_some_old_runs(std::int64_t ended_before);
  // `fruitless` counts, for each principal, the steps that found nothing to delete.
  bool prune_some_of_most_runs(std::map<std::string, int>& fruitless);
  // Deletes those that may go; nothing: it failed.
  std::optional<std::size_t> delete_runs(const std::vector<OldRun>& runs, const std::string& why);
  void remove_run_files(const std::string& session_id, const std::vector<std::string>& ids) const;
  bool forget_some_old_sessions(std::int64_t ended_before, const std::stop_token& stop) const;
  bool forget_some_of_most_sessions(const std::stop_token& stop) const;
  bool forget(const Session& session, const std::string& why, const std::stop_token& stop) const;

  const Ground& ground_;
  PastTable& past_;
  std::mutex mutex_;
  OldRun pruned_up_to_;                            // by age
  std::map<std::string, OldRun> pruned_of_up_to_;  // by size, of each principal
};

}  // namespace sessions
