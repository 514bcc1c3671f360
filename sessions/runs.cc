#include "sessions/runs.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/digest.h"
#include "base/random_id.h"
#include "sessions/boxes.h"
#include "sessions/ground.h"
#include "sessions/patience.h"
#include "sessions/run_ledger.h"
#include "sessions/run_table.h"

namespace sessions {

using base::Error;

namespace {

// A run that ends within this time is answered without a word on its start.
constexpr std::chrono::milliseconds kShortRun{20};

}  // namespace

std::int64_t Runs::longest_seconds(const Session& session) const {
  const Quotas now = ground_.quotas.now();
  const std::int64_t allowed = now.most_limits.run_seconds;
  const std::int64_t own = session.limits.run_seconds;
  // As it is without being asked for, it is only what a run gets that asks for nothing.
  return own != now.default_limits.run_seconds ? std::min(own, allowed) : allowed;
}

base::Result<std::int64_t> Runs::check_seconds(const Session& session, std::int64_t wanted) const {
  const std::int64_t allowed = ground_.quotas.now().most_limits.run_seconds;
  const std::int64_t most = longest_seconds(session);
  if (wanted >= 1 && wanted <= most) return wanted;
  std::string why;
  if (most < allowed) {
    why = ", as limits.run_seconds of this session says";
  } else if (most < sandbox::kRunSecondsMax) {
    why = "; run_seconds in [max_limits] of the configuration allows more";
  }
  return base::error(
      base::Error::Kind::kInvalid,
      "timeout_seconds must be a whole number from 1 to " + std::to_string(most) + why);
}

base::Result<RunState> Runs::start(const Session& session, sandbox::RunRequest request) {
  request.run_id = base::short_id("run_");
  request.trace.mark(sandbox::Hop::kStarted);
  if (request.directory.empty() && session.working_directory != sandbox::kWorkspace) {
    request.directory = session.working_directory;
  }
  Run row;
  row.id = request.run_id;
  row.session_id = session.id;
  row.language = sandbox::name_of(request.language);
  row.background = request.background;
  row.code_sha256 = TRY(base::sha256_hex(request.code));
  row.server_id = ground_.servers.own_id();
  row.queued_at = base::now_ms();
  // A box that cannot be had is found out before there is a row.
  auto box = TRY(boxes_.box_of(session));
  request.trace.mark(sandbox::Hop::kBoxFound);
  TRY(runs_.insert(row));
  request.trace.mark(sandbox::Hop::kSubmitted);
  const auto submitted = submit(session, std::move(box), row, request);
  if (!submitted.ok()) {
    // It never ran, and the caller hears why. The row says so too.
    TRY(ledger_.refuse(row, submitted.error().message));
    return submitted.error();
  }
  sandbox::WaitOptions first;
  if (!row.background) first.timeout = kShortRun;
  RunState state = TRY(wait_for(session.principal_id, row, first, {}, Reader::kClient));
  if (is_terminal(state.run.status)) return state;
  // A full disk, which the run itself may have filled: it goes on, and its box says so.
  const auto started = runs_.set_started(row.id);
  if (!started.ok() && started.error().kind != Error::Kind::kLimit) return started.error();
  return state;
}

base::Status Runs::submit(const Session& session, std::shared_ptr<sandbox::Box> box, const Run& row,
                          const sandbox::RunRequest& request) {
  bool tried = false;
  const auto hand_over = [&](sandbox::Box& live) -> base::Status {
    // A box that died after it had accepted the run: what is on disk tells the rest.
    if (std::exchange(tried, true) && ledger_.was_accepted(row)) return base::done();
    return live.submit(request);
  };
  return boxes_.with_live_box(session, hand_over, std::move(box));
}

base::Result<RunState> Runs::get(const std::string& principal_id, const std::string& run_id,
                                 Reader reader) {
  return wait(principal_id, run_id, {}, {}, reader);
}

base::Result<RunState> Runs::wait(const std::string& principal_id, const std::string& run_id,
                                  const sandbox::WaitOptions& options, const std::stop_token& stop,
                                  Reader reader) {
  return wait_for(principal_id, TRY(runs_.find(principal_id, run_id)), options, stop, reader);
}

base::Result<RunState> Runs::wait_for(const std::string& principal_id, Run row,
                                      const sandbox::WaitOptions& options,
                                      const std::stop_token& stop, Reader reader) {
  const auto deadline = std::chrono::steady_clock::now() + options.timeout;
  while (true) {
    if (stop.stop_requested()) reader = Reader::kNobody;
    if (!row.has_ended()) {
      if (const auto box = ground_.sandbox.find(row.session_id); box.ok()) {
        const bool waits = options.timeout > std::chrono::milliseconds(0);
        auto aside = waits ? ground_.config.step_aside() : nullptr;
        auto run = box.value()->wait(row.id, options, stop);
        aside.reset();
        if (run.ok() && !is_terminal(run.value().status)) {
          return RunState{row.session_id, run.value()};
        }
        if (run.ok()) {
          if (stop.stop_requested()) reader = Reader::kNobody;
          auto ended = TRY(ledger_.commit(row, std::move(run).value(), reader));
          return RunState{row.session_id, std::move(ended)};
        }
        if (stop.stop_requested()) return std::move(run).error();
        // The box has ended, or never had it: what is on disk says which.
      }
    }
    auto settled = TRY(ledger_.settle(row, RunLedger::Owner::kUnknown, reader));
    RunState state{row.session_id, std::move(settled)};
    const bool time_is_up = std::chrono::steady_clock::now() >= deadline;
    if (is_terminal(state.run.status) || time_is_up || stop.stop_requested()) return state;
    pause_for_box();  // being handed over, or its box is silent
    row = TRY(runs_.find(principal_id, row.id));
  }
}

base::Result<RunState> Runs::cancel(const std::string& principal_id, const std::string& run_id) {
  const Run row = TRY(runs_.find(principal_id, run_id));
  if (!row.has_ended()) {
    if (const auto box = ground_.sandbox.find(row.session_id); box.ok()) {
      const auto cancelled = box.value()->cancel(run_id);
      if (!cancelled.ok() && cancelled.error().kind != Error::Kind::kNotFound) {
        return cancelled.error();
      }
    }
  }
  sandbox::WaitOptions options;
  options.timeout = std::chrono::seconds(10);  // longer than an interrupt may take to become a kill
  return wait(principal_id, run_id, options, {});
}

base::Result<std::shared_ptr<sandbox::Box>> Runs::box_of_run(const std::string& principal_id,
                                                             const std::string& run_id) {
  const Run row = TRY(runs_.find(principal_id, run_id));
  if (row.has_ended()) return base::error(Error::Kind::kNotFound, "this run has ended");
  return ground_.sandbox.find(row.session_id);
}

base::Result<sandbox::RunInput> Runs::input_of(const std::string& principal_id,
                                               const std::string& run_id) {
  return TRY(box_of_run(principal_id, run_id))->input_of(run_id);
}

base::Status Runs::end_input(const std::string& principal_id, const std::string& run_id) {
  return TRY(box_of_run(principal_id, run_id))->end_input(run_id);
}

}  // namespace sessions
