// Counts how much of the disk the stored state of one principal's sessions has. Safe from any
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/result.h"

namespace sessions {

class SessionLists;
struct Ground;
struct Session;

class StateShares {
 public:
  static constexpr std::chrono::minutes kLookMost{1};

  StateShares(const Ground& ground, SessionLists& session_lists,
              std::chrono::milliseconds look_most = kLookMost)
      : ground_(ground), session_lists_(session_lists), look_most_(look_most) {}

  // Returns whether sessions of the principal may store more: all that they have stored is less
  // than a tenth of the file system. It may be as old as `look_most`.
  bool has_room(const std::string& principal_id);
  // Leaves that in the directory of the session, where its box looks before it stores something.
  // Returns has_room().
  bool tell(const Session& session);

 private:
  using Clock = std::chrono::steady_clock;
  // A session has so many bytes for as long as the directory of its state stays as it is: whatever
  // is stored takes its name there last.
  struct Stored {
    std::int64_t changed_ns = 0;
    std::int64_t bytes = 0;
  };
  using StoredById = std::map<std::string, Stored>;
  struct Looked {
    Clock::time_point at;
    bool has_room = true;
    StoredById sessions;
  };

  // `before` is what the last look has found.
  [[nodiscard]] Looked look(const std::string& principal_id, const StoredById& before) const;
  [[nodiscard]] Stored stored_of(const std::string& session_id, const StoredById& before) const;
  // Returns what all sessions of the principal have stored, and each of them in `found`.
  [[nodiscard]] base::Result<std::int64_t> stored_bytes(const std::string& principal_id,
                                                        const StoredById& before,
                                                        StoredById& found) const;

  const Ground& ground_;
  SessionLists& session_lists_;
  const std::chrono::milliseconds look_most_;
  std::mutex mutex_;
  std::map<std::string, Looked> looked_;  // by principal; guarded by mutex_
};

}  // namespace sessions
