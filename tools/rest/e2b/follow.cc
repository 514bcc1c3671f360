#include "tools/rest/e2b/follow.h"

#include <chrono>
#include <memory>
#include <utility>

#include "sessions/run_files.h"
#include "sessions/run_state.h"
#include "sessions/runs.h"
#include "sessions/session.h"

namespace tools::rest::e2b {

using sessions::RunState;

namespace {

constexpr std::chrono::seconds kSilentFor{50};
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

// Passes on what one stream has beyond `offset`. Returns false when nobody wants more.
base::Result<bool> pass_on(const Services& services, const RunState& state, const char* stream,
                           std::int64_t bytes, std::int64_t& offset, const Followed& followed) {
  while (offset < bytes) {
    std::string piece = TRY(services.run_files.read_stream(state.session_id, state.run.run_id,
                                                           stream, offset, kPieceBytes));
    if (piece.empty()) return true;
    offset += static_cast<std::int64_t>(piece.size());
    if (!followed.printed(stream, std::move(piece))) return false;
  }
  return true;
}

}  // namespace

base::Result<RunState> follow(const Services& services, const sessions::Session& session,
                              RunState state, const Followed& followed,
                              const std::stop_token& gone) {
  // Whichever comes first ends the wait.
  std::stop_source stop;
  const auto request_stop = [&stop] { (void)stop.request_stop(); };
  const std::stop_callback on_gone(gone, request_stop);
  const std::stop_callback on_drain(services.draining, request_stop);
  sandbox::WaitOptions options;
  options.until_output = true;
  options.timeout = kSilentFor;
  options.wakes = true;
  while (true) {
    const std::int64_t before = options.stdout_offset + options.stderr_offset;
    if (!TRY(pass_on(services, state, "stdout", state.run.stdout_bytes, options.stdout_offset,
                     followed)) ||
        !TRY(pass_on(services, state, "stderr", state.run.stderr_bytes, options.stderr_offset,
                     followed)) ||
        is_terminal(state.run.status)) {
      return state;
    }
    const bool was_silent = before == options.stdout_offset + options.stderr_offset;
    if (was_silent && !followed.silent()) return state;
    auto waited =
        services.runs.wait(session.principal_id, state.run.run_id, options, stop.get_token());
    if (gone.stop_requested()) return waited.ok() ? std::move(waited).value() : state;
    state = TRY(std::move(waited));
    options.wakes = false;  // who pauses it meanwhile means it
    if (services.draining.stop_requested() && !is_terminal(state.run.status)) {
      return base::error(base::Error::Kind::kUnavailable,
                         "hutch is being stopped; " + state.run.run_id + " goes on");
    }
  }
}

std::stop_token gone_of(mcp::http::Stream& stream) {
  const auto source = std::make_shared<std::stop_source>();
  stream.on_gone([source] { (void)source->request_stop(); });
  return source->get_token();
}

}  // namespace tools::rest::e2b
