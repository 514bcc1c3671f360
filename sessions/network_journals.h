// Takes what boxes have written down of their network into the store. Safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/result.h"

namespace sessions {

class NetworkTable;
class SessionLists;

class NetworkJournals {
 public:
  NetworkJournals(std::string state_directory, NetworkTable& network, SessionLists& session_lists)
      : state_directory_(std::move(state_directory)),
        network_(network),
        session_lists_(session_lists) {}

  // Takes over the journal of one session, as far as it goes now.
  base::Status take(const std::string& session_id);
  // Takes, as take(), what a session has whose lock is held, so that no box writes there: what is
  // open has ended.
  base::Status take_last(const std::string& session_id);
  // Takes, as take(), what all sessions have that live or are being deleted.
  base::Status take_all();
  // Forgets the session, which is deleted.
  void forget(const std::string& session_id);

 private:
  // Returns false when there is none.
  base::Result<bool> take_in(const std::string& session_id, int directory_fd);

  const std::string state_directory_;
  NetworkTable& network_;
  SessionLists& session_lists_;
  std::mutex mutex_;
  std::map<std::string, std::int64_t> ends_;  // by session, as far as they were taken over
};

}  // namespace sessions
