// How much of the disk the stored state of one principal's sessions has. Safe from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace sessions {

class SessionLists;
struct Ground;
struct Session;

class StateShares {
 public:
  StateShares(const Ground& ground, SessionLists& session_lists)
      : ground_(ground), session_lists_(session_lists) {}

  // Returns whether sessions of the principal may store more: all that they have stored is less
  // than a tenth of the file system. It may be a minute old.
  bool has_room(const std::string& principal_id);
  // Leaves that in the directory of the session, where its box looks before it stores something.
  // Returns has_room().
  bool tell(const Session& session);

 private:
  using Clock = std::chrono::steady_clock;
  struct Looked {
    Clock::time_point at;
    bool has_room = true;
  };

  [[nodiscard]] bool look(const std::string& principal_id) const;

  const Ground& ground_;
  SessionLists& session_lists_;
  std::mutex mutex_;
  std::map<std::string, Looked> looked_;  // by principal; guarded by mutex_
};

}  // namespace sessions
