// A run and the session it belongs to.
#pragma once

#include <string>

#include "sandbox/run.h"

namespace sessions {

struct RunState {
  std::string session_id;
  sandbox::Run run;
};

// A client has read what it gets of a run that has ended, unless nobody is there any more to get
// it.
enum class Reader {
  kClient,  // it has waited for the end
  kLater,   // it came back to ask for it, and may read on
  kNobody,
};

}  // namespace sessions
