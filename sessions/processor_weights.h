// Each principal has an equal part of the processors where several want them: the weight of a
// session is its principal's part, divided by that principal's busy sessions.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace sessions {

class RunTable;
class SessionTable;

struct WeighedSession {
  std::string id;
  std::string principal_id;
  bool is_busy = false;  // a run of it is not over
};

// Returns, for each of them, into how many shares the part of its principal is divided. Sessions
// that are not busy have one part together: what earlier runs left behind in them has no more.
std::map<std::string, std::int64_t> shares_of_parts(const std::vector<WeighedSession>& sessions);

// Sets the weights again and again, on a thread of its own, where there are cgroups. No call waits
// for it.
class ProcessorWeights {
 public:
  ProcessorWeights(const std::string& state_directory, SessionTable& sessions, RunTable& runs);
  ~ProcessorWeights();
  ProcessorWeights(const ProcessorWeights&) = delete;
  ProcessorWeights& operator=(const ProcessorWeights&) = delete;

 private:
  void set_from_time_to_time(const std::stop_token& stop);
  void set_all();
  // Returns whose session it is; empty when it is no more.
  std::string principal_of(const std::string& session_id);

  const std::string sessions_directory_;
  SessionTable& sessions_;
  RunTable& runs_;
  // It holds the principals of sessions that have a cgroup; that of a spare one may change, and is
  // not kept.
  std::map<std::string, std::string> principals_;
  std::map<std::string, std::int64_t> set_;  // by session
  std::mutex mutex_;
  std::condition_variable_any wakeup_;
  std::jthread thread_;
};

}  // namespace sessions
