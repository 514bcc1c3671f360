// A program that runs to its end in a session, for tools and APIs that answer with what it
// printed.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sandbox/run.h"
#include "sessions/run_state.h"
#include "sessions/session.h"
#include "tools/tools.h"

namespace tools {

// Bytes of one stream in an answer, as JSON prints them: control characters take six. A file of the
// session has the whole.
inline constexpr std::size_t kStreamBytesMax = std::size_t{1} << 20;

struct Seen {
  sandbox::Run run;
  bool output_is_cut = false;
  bool errors_are_cut = false;
  // They are stdout and stderr in UTF-8. One that does not fit has its head and tail here, and a
  // line between them says how much is left out.
  std::string output;
  std::string errors;
};

// Adds what an answer says of streams that are cut; nothing where both are whole. The words follow
// the stream's name: "stdout" and `words.bytes`.
struct CutWords {
  const char* bytes;
  const char* file;
};
void add_cut(nlohmann::json& answer, const Seen& seen, const CutWords& words);
inline constexpr CutWords kCutInCamelCase{"Bytes", "File"};
inline constexpr CutWords kCutInSnakeCase{"_bytes", "_file"};

// Returns what there is of the run now.
base::Result<Seen> look_at(const Services& services, sessions::RunState state);

// Says that nobody can follow this run here any more, since this server is to stop.
base::Error is_stopping(const std::string& run_id);

// Waits for the run's end. Fails with kUnavailable when this server is to stop, and the run goes on
// without it; or when the client that asked has `gone`: nobody else knows of the run, and it is
// cancelled.
base::Result<sessions::RunState> wait_for_end(const Services& services,
                                              const sessions::Session& session,
                                              sessions::RunState state,
                                              const std::stop_token& gone);
// Starts a run, waits for its end as wait_for_end() does, and returns what there is then.
base::Result<Seen> run_to_its_end(const Services& services, const sessions::Session& session,
                                  sandbox::RunRequest request, const std::stop_token& gone);

// Returns, for a shell, the program of these words, in a directory (empty: where the shell is),
// which leaves the shell as it is. kInvalid: no program has such words.
base::Result<std::string> command_line(const std::vector<std::string>& words,
                                       const std::string& cwd);

}  // namespace tools
