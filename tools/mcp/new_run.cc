#include "tools/mcp/new_run.h"

#include <optional>
#include <string>
#include <utility>

#include "sessions/follow.h"
#include "sessions/run_state.h"
#include "sessions/runs.h"
#include "tools/mcp/run_reply.h"

namespace tools {

using sessions::RunState;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

constexpr milliseconds kReportEvery{2'000};
// A run in the background that is to fail most often has failed by then.
constexpr milliseconds kStartSeen{400};

// Tells the client of a run in progress: its id, and the newest line.
class ProgressReport {
 public:
  ProgressReport(const sessions::RunFiles& files, mcp::CallContext& context, const RunState& state)
      : files_(files), context_(context) {
    context_.report_progress(0, std::nullopt, state.run.run_id + " in " + state.session_id);
  }

  void update(const RunState& state) {
    const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
    context_.report_progress(seconds, std::nullopt, newest_line(files_, state));
  }

 private:
  const sessions::RunFiles& files_;
  mcp::CallContext& context_;
  const Clock::time_point started_ = Clock::now();
};

// Returns after kStartSeen, or at once with how it ended: a command that is not there, a port that
// is taken.
base::Result<RunState> see_it_start(const Services& services, RunState state,
                                    mcp::CallContext& context) {
  sandbox::WaitOptions options;
  options.timeout = kStartSeen;
  auto seen =
      services.runs.wait(context.principal().id, state.run.run_id, options, context.cancelled());
  return seen.ok() ? std::move(seen) : std::move(state);
}

// Follows a foreground run until it ends or is handed over.
base::Result<RunState> follow_call(const Services& services, RunState state,
                                   mcp::CallContext& context) {
  ProgressReport progress(services.run_files, context, state);
  if (is_terminal(state.run.status)) return state;
  sessions::FollowOptions options{.gone = context.cancelled(), .draining = services.draining};
  options.until = context.received_at() + kHandOverAfter;
  options.look_every = context.wants_progress() ? kReportEvery : kHandOverAfter;
  options.looked = [&progress](const RunState& seen) {
    progress.update(seen);
    return true;
  };
  const std::string id = state.run.run_id;
  auto followed = TRY(sessions::follow(services.runs, services.run_files, context.principal().id,
                                       std::move(state), options));
  using End = sessions::Followed::End;
  // A client that went away did not ask for the run to end; one that cancelled did.
  if (followed.end == End::kGone && !context.disconnected()) {
    return services.runs.cancel(context.principal().id, id);
  }
  if (followed.end == End::kEnded) progress.update(followed.state);
  return std::move(followed.state);
}

}  // namespace

base::Result<Reply> reply_of_new_run(const Services& services, const CallSession& found,
                                     sandbox::RunRequest request, mcp::CallContext& context) {
  request.trace.mark(sandbox::Hop::kCalled, context.received_at());
  request.most_seconds = services.runs.longest_seconds(found.session);
  RunState state = TRY(services.runs.start(found.session, std::move(request)));
  const mcp::TaskWish wish = context.task_wish();
  const bool as_task =
      wish == mcp::TaskWish::kDemanded || (wish == mcp::TaskWish::kAllowed && state.run.background);
  if (as_task) return Reply{.structured = {}, .text = {}, .task = task_of_run(state)};
  if (state.run.background) {
    state = TRY(see_it_start(services, std::move(state), context));
  } else {
    state = TRY(follow_call(services, std::move(state), context));
  }
  if (!is_terminal(state.run.status) && wish == mcp::TaskWish::kAllowed) {
    return Reply{.structured = {}, .text = {}, .task = task_of_run(state)};
  }
  if (services.changes != nullptr && !state.run.files_changed.empty()) {
    services.changes->resources_changed(context.principal().id);
  }
  Reply reply = reply_of_run(services, state,
                             found.is_default ? SessionName::kUnderstood : SessionName::kShown);
  if (found.is_new) reply.new_session_id = found.session.id;
  return reply;
}

}  // namespace tools
