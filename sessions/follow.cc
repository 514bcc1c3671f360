#include "sessions/follow.h"

#include <algorithm>
#include <utility>

#include "sandbox/sandbox.h"
#include "sessions/run_files.h"
#include "sessions/runs.h"

namespace sessions {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Passes on what one stream has beyond `offset`. Returns false when nobody wants more.
base::Result<bool> pass_on(const RunFiles& files, const RunState& state, const char* stream,
                           std::int64_t bytes, std::int64_t& offset, const FollowOptions& options) {
  while (offset < bytes) {
    std::string piece = TRY(
        files.read_stream(state.session_id, state.run.run_id, stream, offset, options.piece_bytes));
    if (piece.empty()) return true;
    offset += static_cast<std::int64_t>(piece.size());
    if (!options.printed(stream, std::move(piece))) return false;
  }
  return true;
}

base::Result<bool> pass_on_both(const RunFiles& files, const RunState& state,
                                sandbox::WaitOptions& known, const FollowOptions& options) {
  if (!options.printed) return true;
  const sandbox::Run& run = state.run;
  const bool goes_on =
      TRY(pass_on(files, state, "stdout", run.stdout_bytes, known.stdout_offset, options));
  if (!goes_on) return false;
  return pass_on(files, state, "stderr", run.stderr_bytes, known.stderr_offset, options);
}

}  // namespace

base::Result<Followed> follow(Runs& runs, const RunFiles& files, const std::string& principal_id,
                              RunState state, const FollowOptions& options) {
  using End = Followed::End;
  // Whichever comes first ends the wait.
  std::stop_source stop;
  const auto request_stop = [&stop] { (void)stop.request_stop(); };
  const std::stop_callback on_gone(options.gone, request_stop);
  const std::stop_callback on_drain(options.draining, request_stop);
  sandbox::WaitOptions wait;
  wait.until_output = options.printed != nullptr;
  wait.wakes = options.wakes;
  for (bool is_first = true;; is_first = false) {
    const std::int64_t before = wait.stdout_offset + wait.stderr_offset;
    const bool goes_on = TRY(pass_on_both(files, state, wait, options));
    if (!goes_on) return Followed{state, End::kUnwanted};
    if (is_terminal(state.run.status)) return Followed{state, End::kEnded};
    const bool was_silent = before == wait.stdout_offset + wait.stderr_offset;
    if (!is_first && was_silent && options.looked && !options.looked(state)) {
      return Followed{state, End::kUnwanted};
    }
    wait.timeout = options.look_every;
    if (options.until) {
      const auto left = std::chrono::ceil<milliseconds>(*options.until - Clock::now());
      if (left <= milliseconds(0)) return Followed{state, End::kTimeIsUp};
      wait.timeout = std::min(wait.timeout, left);
    }
    auto waited = runs.wait(principal_id, state.run.run_id, wait, stop.get_token());
    if (waited.ok()) state = waited.value();
    const bool has_ended = waited.ok() && is_terminal(state.run.status);
    if (options.gone.stop_requested()) {
      return Followed{state, has_ended ? End::kEnded : End::kGone};
    }
    if (options.draining.stop_requested() && !has_ended) return Followed{state, End::kDraining};
    if (!waited.ok()) return std::move(waited).error();
    wait.wakes = false;
  }
}

}  // namespace sessions
