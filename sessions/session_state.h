// A session and what is alive of it.
#pragma once

#include <vector>

#include "sandbox/run.h"
#include "sessions/session.h"

namespace sessions {

struct SessionState {
  Session session;  // its status is the one of this moment
  std::vector<sandbox::Run> active;
};

}  // namespace sessions
