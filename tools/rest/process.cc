#include "tools/rest/process.h"

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <utility>

#include "tools/text_window.h"

namespace tools::rest {

using sessions::RunState;

namespace {

constexpr std::chrono::seconds kAskAgain{50};

base::Result<std::string> stream_of(const Services& services, const RunState& state,
                                    const char* name, std::int64_t bytes) {
  if (bytes == 0) return std::string();
  const std::size_t shown = std::min(static_cast<std::size_t>(bytes), kStreamBytesMax);
  return to_utf8(
      TRY(services.sessions.read_run_file(state.session_id, state.run.run_id, name, 0, shown)));
}

}  // namespace

base::Result<Seen> look_at(const Services& services, RunState state) {
  Seen seen;
  seen.output = TRY(stream_of(services, state, "stdout", state.run.stdout_bytes));
  seen.errors = TRY(stream_of(services, state, "stderr", state.run.stderr_bytes));
  seen.run = std::move(state.run);
  return seen;
}

base::Result<Seen> run_to_its_end(const Services& services, const sessions::Session& session,
                                  sandbox::RunRequest request) {
  RunState state = TRY(services.sessions.start_run(session, std::move(request)));
  sandbox::WaitOptions options;
  options.timeout = kAskAgain;
  options.wakes = true;
  while (!is_terminal(state.run.status)) {
    auto waited = services.sessions.wait_run(session.principal_id, state.run.run_id, options,
                                             services.draining);
    if (services.draining.stop_requested() &&
        (!waited.ok() || !is_terminal(waited.value().run.status))) {
      return base::error(base::Error::Kind::kUnavailable,
                         "hutch is being stopped; " + state.run.run_id + " goes on");
    }
    state = TRY(std::move(waited));
  }
  return look_at(services, std::move(state));
}

std::string quoted_for_shell(const std::string& word) {
  std::string quoted = "'";
  for (const char letter : word) {
    if (letter == '\'') {
      quoted += "'\\''";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

}  // namespace tools::rest
