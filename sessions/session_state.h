// A session and what is alive of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sandbox/run.h"
#include "sessions/session.h"

namespace sessions {

// A Tier says where a session's knowledge is while it rests.
enum class Tier {
  kFrozen,  // in its processes, which stand still
  kStored,  // on the disk, whence the next processes have it
  kFiles,   // nowhere: it has its files
};
const char* name_of(Tier tier);
// Returns nothing for a session that does not rest.
std::optional<Tier> tier_of(SessionStatus status);

struct SessionState {
  Session session;  // its status is the one of this moment
  std::vector<sandbox::Run> active;
  bool is_storing = false;   // it is paused, and what it knows is on its way to the disk
  std::string held_by = {};  // why a paused one keeps its processes, in words of its box
  // Says how it was before it was resumed; not known of others.
  std::optional<Tier> woken_from = {};
};

}  // namespace sessions
