// The journal tells what a session has asked of the network, request by request: lines of JSON in
// files of its own directory, which no box sees. hutch-box writes them as the door tells it;
// servers take them over into their database, and remove what they have taken.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/fd.h"
#include "base/result.h"

namespace sandbox {

// A NetworkRequest is one request, or one connection that nobody looks into.
struct NetworkRequest {
  std::int64_t number = 0;  // grows within the session; about microseconds since the epoch
  std::string verdict;      // "allowed", "refused"
  std::string host;
  std::int64_t port = 0;     // 0: a name was asked for
  std::string method;        // empty: nobody has looked
  std::string path;          // as the code has asked for it
  std::int64_t status = 0;   // the answer's; 0: none
  std::string reason;        // why it was refused; else empty
  std::string missing_rule;  // as in NetworkUse::Refusal
  std::string credential;    // its name, where one was added
  bool was_kept = false;     // the answer came from what is kept of earlier ones
  std::int64_t sent_bytes = 0;
  std::int64_t received_bytes = 0;
  std::int64_t ms = 0;
  bool is_open = false;   // it is under way: bytes and time are those of some seconds ago
  std::int64_t more = 0;  // so many that nobody has told of one by one
};

// A JournalEntry is one line of a journal.
struct JournalEntry {
  enum class Kind {
    kBegins,
    kGoesOn,  // news of the request with this number: the bytes are all until now
    kUse      // nothing but bytes
  };
  Kind kind = Kind::kBegins;
  NetworkRequest request;
  std::int64_t at = 0;          // as a request's number
  std::int64_t used_bytes = 0;  // that the session has sent and received since it was last told
  std::int64_t end = 0;         // where in the journal the next line begins
};

// It is for hutch-box alone.
class NetworkJournal {
 public:
  // `directory_fd` is the session's, and outlives this.
  explicit NetworkJournal(int directory_fd);

  // Writes what an `event` tells of requests and bytes, see egress_protocol.h. "lost", which the
  // box tells itself, is end_all(); others are nothing to it.
  void add(const nlohmann::json& event);
  // Ends the requests that are under way: nothing more will be told of them.
  void end_all();

  // Returns how many bytes the journal's files have: those that were there at the last
  // look_again(), and what was written since.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  // Returns whether some of it waits in memory, since the disk does not take it.
  [[nodiscard]] bool is_stuck() const { return !unwritten_.empty(); }
  // Tries again to write what could not be written, and counts bytes() anew: servers remove what
  // they have taken over. Where the disk takes it again, it is told how much was left out
  // meanwhile.
  void look_again();

 private:
  // Lines for which unwritten_ had no room.
  struct LeftOut {
    std::int64_t allowed = 0;  // requests
    std::int64_t refused = 0;
    std::int64_t used_bytes = 0;
    std::vector<std::int64_t> ended;  // numbers of requests whose beginning is told
  };

  base::Status open_next();
  void begin(const nlohmann::json& event, const std::string& kind);
  void go_on(const nlohmann::json& event, const std::string& kind);
  std::int64_t next_number();
  // Returns false when there is no room for it: then it is counted among what is left out.
  bool write(const nlohmann::json& line);
  bool write_now(const std::string& text);
  void leave_out(const nlohmann::json& line);
  void tell_what_is_left_out();

  const int directory_fd_;
  std::int64_t file_number_ = 0;
  std::int64_t last_number_ = 0;
  std::int64_t file_bytes_ = 0;  // the size of the file that is written
  std::int64_t bytes_ = 0;
  base::UniqueFd file_;
  std::string unwritten_;
  LeftOut left_out_;
  std::unordered_map<std::int64_t, std::int64_t> open_;  // the door's id to the request's number
};

// Returns some lines of the journal behind `after`, where an earlier one ended; 0: from its
// beginning. None: there are no more. Text that is no line is left out.
std::vector<JournalEntry> read_network_journal(int directory_fd, std::int64_t after);
// Returns where the next line will begin; 0: there is no journal.
std::int64_t network_journal_end(int directory_fd);
// Removes what lies before `taken`, as far as nobody writes there any more.
void drop_network_journal(int directory_fd, std::int64_t taken);

}  // namespace sandbox
