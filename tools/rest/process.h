// A program that runs to its end in a session, for APIs that answer with what it printed.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "sandbox/run.h"
#include "sessions/manager.h"
#include "tools/tools.h"

namespace tools::rest {

// Of one stream in an answer; its whole is in a file of the session.
// As JSON prints it: control characters take six.
inline constexpr std::size_t kStreamBytesMax = std::size_t{1} << 20;

struct Seen {
  sandbox::Run run;
  bool output_is_cut = false;
  bool errors_are_cut = false;
  std::string output;  // stdout and stderr as far as they fit, UTF-8
  std::string errors;
};

// What there is of it now.
base::Result<Seen> look_at(const Services& services, sessions::RunState state);

// Its end. kUnavailable: this server is to stop, and the run goes on without it; or the client that
// asked has `gone`, and nobody else knows of the run: it is cancelled.
base::Result<sessions::RunState> wait_for_end(const Services& services,
                                              const sessions::Session& session,
                                              sessions::RunState state,
                                              const std::stop_token& gone);
// wait_for_end(), and what there is then.
base::Result<Seen> run_to_its_end(const Services& services, const sessions::Session& session,
                                  sandbox::RunRequest request, const std::stop_token& gone);

// For a shell: the program of these words, in a directory (empty: where the shell is), which leaves
// the shell as it is. kInvalid: no program has such words.
base::Result<std::string> command_line(const std::vector<std::string>& words,
                                       const std::string& cwd);

}  // namespace tools::rest
