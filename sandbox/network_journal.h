// What a session has asked of the network, request by request: lines of JSON in files of its own
// directory, which no box sees. hutch-box writes them as the door tells it; servers take them over
// into their database.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sandbox/base/fd.h"
#include "sandbox/base/result.h"

namespace sandbox {

// One request, or one connection that nobody looks into.
struct NetworkRequest {
  std::int64_t number = 0;  // of the session, growing; microseconds since the epoch, about
  std::string verdict;      // "allowed", "refused"
  std::string host;
  std::int64_t port = 0;    // 0: a name was asked for
  std::string method;       // empty: nobody has looked
  std::string path;         // as the code has asked for it
  std::int64_t status = 0;  // of the answer; 0: none
  std::string reason;       // of a refusal
  std::string credential;   // its name, where one was added
  bool was_kept = false;    // the answer came from what is kept of earlier ones
  std::int64_t sent_bytes = 0;
  std::int64_t received_bytes = 0;
  std::int64_t ms = 0;
};

// For hutch-box alone. What does not fit any more goes, the oldest first.
class NetworkJournal {
 public:
  // `directory_fd` is the session's, and outlives this.
  explicit NetworkJournal(int directory_fd);

  // `event` of the door, see egress_protocol.h; others than of requests are nothing to it. What
  // cannot be written is not: the door goes on.
  void add(const nlohmann::json& event);

 private:
  base::Status open_next();

  const int directory_fd_;
  std::int64_t file_number_ = 0;
  std::int64_t last_number_ = 0;
  std::int64_t bytes_ = 0;
  base::UniqueFd file_;
};

// All that is in the journal, the oldest first. Lines that are none are left out.
std::vector<NetworkRequest> read_network_journal(int directory_fd);
// Its size, to tell whether there is something new.
std::int64_t network_journal_bytes(int directory_fd);

}  // namespace sandbox
