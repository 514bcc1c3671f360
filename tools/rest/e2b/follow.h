// What a run prints, as it comes.
#pragma once

#include <functional>
#include <string>

#include "sessions/manager.h"
#include "tools/tools.h"

namespace tools::rest::e2b {

struct Followed {
  // Bytes of "stdout" or "stderr". False: nobody wants more.
  std::function<bool(const char* stream, std::string bytes)> printed;
  // Nothing has come for long: the same.
  std::function<bool()> silent;
};

// Until it has ended, or nobody wants more: the run as it is then. kUnavailable: this server is to
// stop, and the run goes on.
base::Result<sessions::RunState> follow(const Services& services, const sessions::Session& session,
                                        sessions::RunState state, const Followed& followed);

}  // namespace tools::rest::e2b
