#include "tools/api/process.h"

#include <algorithm>
#include <stop_token>
#include <utility>

#include "base/text.h"
#include "sessions/follow.h"
#include "sessions/run_files.h"
#include "sessions/run_state.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "tools/text_window.h"

namespace tools::api {

using sessions::RunState;

namespace {

// Reads the first of so many bytes, as far as they fit. Returns whether that is not all.
base::Result<bool> read_stream(const Services& services, const RunState& state, const char* name,
                               std::int64_t bytes, std::string& text) {
  if (bytes == 0) return false;
  const std::size_t wanted = std::min(static_cast<std::size_t>(bytes), kStreamBytesMax);
  text = to_utf8(TRY(services.run_files.read(state.session_id, state.run.run_id, name, 0, wanted)));
  std::size_t printed = 0;
  std::size_t end = 0;
  for (; end < text.size() && printed <= kStreamBytesMax; ++end) {
    const auto byte = static_cast<unsigned char>(text[end]);
    printed += byte < 0x20 || byte == 0x7f ? 6 : byte == '"' || byte == '\\' ? 2 : 1;
  }
  const bool is_cut = end < text.size() || bytes > static_cast<std::int64_t>(wanted);
  text.resize(whole_characters(text, end));
  return is_cut;
}

}  // namespace

base::Error is_stopping(const std::string& run_id) {
  return base::error(base::Error::Kind::kUnavailable,
                     "hutch is being stopped; " + run_id + " goes on");
}

base::Result<Seen> look_at(const Services& services, RunState state) {
  Seen seen;
  seen.output_is_cut =
      TRY(read_stream(services, state, "stdout", state.run.stdout_bytes, seen.output));
  seen.errors_are_cut =
      TRY(read_stream(services, state, "stderr", state.run.stderr_bytes, seen.errors));
  seen.run = std::move(state.run);
  return seen;
}

base::Result<RunState> wait_for_end(const Services& services, const sessions::Session& session,
                                    RunState state, const std::stop_token& gone) {
  const std::string id = state.run.run_id;
  auto followed = TRY(
      sessions::follow(services.runs, services.run_files, session.principal_id, std::move(state),
                       {.gone = gone, .draining = services.draining, .wakes = true}));
  using End = sessions::Followed::End;
  if (followed.end == End::kGone) {
    (void)services.runs.cancel(session.principal_id, id);
    return base::error(base::Error::Kind::kUnavailable, "the client has gone");
  }
  if (followed.end == End::kDraining) return is_stopping(id);
  return std::move(followed.state);
}

base::Result<Seen> run_to_its_end(const Services& services, const sessions::Session& session,
                                  sandbox::RunRequest request, const std::stop_token& gone) {
  RunState state = TRY(services.runs.start(session, std::move(request)));
  state = TRY(wait_for_end(services, session, std::move(state), gone));
  return look_at(services, std::move(state));
}

base::Result<std::string> command_line(const std::vector<std::string>& words,
                                       const std::string& cwd) {
  std::string line = "( ";
  // "-" is another directory's name.
  const std::string directory = cwd.empty() || cwd.starts_with('/') ? cwd : "./" + cwd;
  if (!cwd.empty()) line += "CDPATH= cd -- " + base::quoted_for_shell(directory) + " && ";
  line += "exec --";
  for (const std::string& word : words) line += " " + base::quoted_for_shell(word);
  if (line.find('\0') == std::string::npos) return line + " )";
  return base::error(base::Error::Kind::kInvalid,
                     "NUL can be in no word of a command, and no path");
}

}  // namespace tools::api
