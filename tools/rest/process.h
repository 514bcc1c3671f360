// A program that runs to its end in a session, for APIs that answer with what it printed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sandbox/run.h"
#include "sessions/manager.h"
#include "tools/tools.h"

namespace tools::rest {

// Of one stream in an answer; its whole is in a file of the session.
inline constexpr std::size_t kStreamBytesMax = std::size_t{8} << 20;

struct Seen {
  sandbox::Run run;
  std::string output;  // stdout and stderr as far as they fit, UTF-8
  std::string errors;
};

// What there is of it now.
base::Result<Seen> look_at(const Services& services, sessions::RunState state);

// kUnavailable: this server is to stop, and the run goes on without it.
base::Result<Seen> run_to_its_end(const Services& services, const sessions::Session& session,
                                  sandbox::RunRequest request);

// What a shell takes for this word, whatever stands in it.
std::string quoted_for_shell(const std::string& word);

}  // namespace tools::rest
