// Lists of sessions by what they have in common. Safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sessions/session.h"

namespace sessions {

struct StoreFile;

// A SessionPlace is the place of a session among those of its principal, by when it was used.
struct SessionPlace {
  std::int64_t last_used_at = -1;
  std::string id;
};

class SessionLists {
 public:
  explicit SessionLists(StoreFile& file) : file_(file) {}

  // Returns destroyed ones or others, the one that was used last first.
  base::Result<std::vector<Session>> newest(const std::string& principal_id, bool destroyed,
                                            std::int64_t limit);
  // Returns ids of sessions of all principals, the newest used first.
  base::Result<std::vector<std::string>> newest_used(std::int64_t limit);
  // Returns the ones that were used longest ago.
  base::Result<std::vector<Session>> oldest(const std::string& principal_id, std::int64_t limit);
  // Returns the places of those after `after` that are not destroyed, the one that was used longest
  // ago first.
  base::Result<std::vector<SessionPlace>> places(const std::string& principal_id,
                                                 const SessionPlace& after, std::int64_t limit);
  // Returns the unasked sessions that may have a box, least recently used first.
  base::Result<std::vector<Session>> unasked(const std::string& principal_id);
  // Returns those without a name or anything that a client would find them by, of those after
  // `after`, the one that was used longest ago first.
  base::Result<std::vector<Session>> unnamed(const std::string& principal_id,
                                             const SessionPlace& after, std::int64_t limit);
  // Returns those that have a box by their rows, the one that was used last last.
  base::Result<std::vector<Session>> with_box(const std::string& principal_id);
  base::Result<std::int64_t> count_kept(const std::string& principal_id);
  // Returns the sessions of all principals that are not destroyed.
  base::Result<std::vector<Session>> live();
  // Returns destroyed sessions of all principals with something possibly left on the host or here.
  base::Result<std::vector<Session>> unburied();

 private:
  // Takes the mutex again and again, so that others have their turn in between.
  base::Result<std::vector<Session>> all_in_turns(const char* sql);

  StoreFile& file_;
};

}  // namespace sessions
