// Runs: accepted, followed, settled after a crash.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "sandbox/base/clock.h"
#include "sandbox/base/random_id.h"
#include "sandbox/wire/json.h"
#include "sessions/manager.h"
#include "sessions/run_record.h"
#include "sessions/sha256.h"

namespace sessions {

std::int64_t Manager::longest_run_seconds(const Session& session) const {
  const Quotas now = quotas();
  const std::int64_t allowed = now.most_limits.run_seconds;
  const std::int64_t own = session.limits.run_seconds;
  // As it is without being asked for, it is only what a run gets that asks for nothing.
  return own != now.default_limits.run_seconds ? std::min(own, allowed) : allowed;
}

base::Result<std::int64_t> Manager::check_run_seconds(const Session& session,
                                                      std::int64_t wanted) const {
  const std::int64_t allowed = quotas().most_limits.run_seconds;
  const std::int64_t most = longest_run_seconds(session);
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

using base::Error;
using nlohmann::json;

namespace {

constexpr std::size_t kRecordBytesMax = 32U << 20;
// How long a server may take between the row of a run and the box having it.
constexpr std::int64_t kHandOverMs = 60'000;
// A run that ends within this time is answered without a word on its start.
constexpr std::chrono::milliseconds kShortRun{20};

}  // namespace

base::Result<RunState> Manager::start_run(const Session& session, sandbox::RunRequest request) {
  request.run_id = base::short_id("run_");
  if (request.directory.empty() && session.working_directory != kWorkspace) {
    request.directory = session.working_directory;
  }
  Run row;
  row.id = request.run_id;
  row.session_id = session.id;
  row.language = sandbox::name_of(request.language);
  row.background = request.background;
  row.code_sha256 = TRY(sha256_hex(request.code));
  row.server_id = server_id_;
  row.queued_at = base::now_ms();
  // A box that cannot be had is found out before there is a row.
  TRY(box_of(session));
  TRY(store_.insert_run(row));
  bool tried = false;
  const auto submitted = with_live_box(session, [&](sandbox::Box& box) -> base::Status {
    // A box that died after it had accepted the run: what is on disk tells the rest.
    if (std::exchange(tried, true) && was_accepted(row)) return base::done();
    return box.submit(request);
  });
  if (!submitted.ok()) {
    // Refused: it never ran, and the caller hears why. The row says so too.
    sandbox::Run refused = run_of(row);
    refused.status = sandbox::RunStatus::kFailed;
    refused.finished_at_ms = base::now_ms();
    refused.error = sandbox::RunError{
        "Refused", submitted.error().message, "", sandbox::Cause::kSandboxLost, "files kept", ""};
    if (was_ended(row)) refused = ended_by_deletion(row);
    TRY(commit(row, std::move(refused), Reader::kClient));
    return submitted.error();
  }
  sandbox::WaitOptions first;
  if (!row.background) first.timeout = kShortRun;
  RunState state = TRY(wait_run(session.principal_id, row.id, first, {}));
  if (is_terminal(state.run.status)) return state;
  // A full disk, which the run itself may have filled: it goes on, and its box says so.
  const auto started = store_.set_run_started(row.id);
  if (!started.ok() && started.error().kind != Error::Kind::kLimit) return started.error();
  return state;
}

base::Result<RunState> Manager::wait_run(const std::string& principal_id, const std::string& run_id,
                                         const sandbox::WaitOptions& options,
                                         const std::stop_token& stop, Reader reader) {
  const auto deadline = std::chrono::steady_clock::now() + options.timeout;
  while (true) {
    const Run row = TRY(store_.find_run(principal_id, run_id));
    if (stop.stop_requested()) reader = Reader::kNobody;
    if (!row.record) {
      if (const auto box = sandbox_.find(row.session_id); box.ok()) {
        const bool waits = options.timeout > std::chrono::milliseconds(0);
        auto aside = waits ? config_.step_aside() : nullptr;
        auto run = box.value()->wait(run_id, options, stop);
        aside.reset();
        if (run.ok() && !is_terminal(run.value().status)) {
          return RunState{row.session_id, run.value()};
        }
        if (run.ok()) {
          if (stop.stop_requested()) reader = Reader::kNobody;
          auto ended = TRY(commit(row, std::move(run).value(), reader));
          return RunState{row.session_id, std::move(ended)};
        }
        if (stop.stop_requested()) return std::move(run).error();
        // The box has ended, or never had it: what is on disk says which.
      }
    }
    auto settled = TRY(settle(row, Owner::kUnknown, reader));
    RunState state{row.session_id, std::move(settled)};
    const bool time_is_up = std::chrono::steady_clock::now() >= deadline;
    if (is_terminal(state.run.status) || time_is_up || stop.stop_requested()) return state;
    pause_for_box();  // being handed over, or its box is silent
  }
}

base::Result<sandbox::Run> Manager::settle(const Run& row, Owner owner, Reader reader) {
  if (row.record) {
    // On a full disk it stays unread, which is the safe side.
    if (reader == Reader::kClient && !row.was_read) (void)store_.set_run_read(row.id);
    const json value = TRY(sandbox::wire::parse_json(*row.record));
    return sandbox::run_from_json(value);
  }
  const bool alive = owner == Owner::kUnknown && sandbox_.is_alive(directory_of(row.session_id));
  if (auto record = read_record(row)) return commit(row, std::move(*record), reader);
  if (alive) {
    const auto box = sandbox_.find(row.session_id);
    if (!box.ok()) return run_of(row);  // it holds its lock, but is silent
    auto asked = box.value()->wait(row.id, {}, {});
    if (asked.ok() && is_terminal(asked.value().status)) {
      return commit(row, std::move(asked).value(), reader);
    }
    if (asked.ok()) return asked;
    // Only "never heard of it" is an answer. Anything else leaves the question open.
    if (asked.error().kind != Error::Kind::kNotFound) return run_of(row);
    // A box before this one may have had it, and may have recorded it just now.
    if (auto record = read_record(row)) return commit(row, std::move(*record), reader);
  }
  const bool being_handed_over = row.status == "queued" && server_is_alive(row.server_id) &&
                                 base::now_ms() - row.queued_at < kHandOverMs;
  if (being_handed_over) return run_of(row);
  if (was_ended(row)) return commit(row, ended_by_deletion(row), reader);
  config_.notify(
      {Notice::Level::kFailure, "a sandbox ended before its run did", "", row.session_id, row.id});
  return commit(row, lost(row), reader);
}

bool Manager::was_ended(const Run& row) const {
  const auto live = store_.session_is_live(row.session_id);
  return live.ok() && !live.value();
}

sandbox::Run Manager::ended_by_deletion(const Run& row) const {
  sandbox::Run run = lost(row);
  run.status = sandbox::RunStatus::kCancelled;
  run.error = sandbox::RunError{"Cancelled", "the session was ended before this run had",
                                "",          sandbox::Cause::kCancelled,
                                "",          "files, variables and processes of the session"};
  return run;
}

sandbox::Run Manager::lost(const Run& row) const {
  sandbox::Run run = run_of(row);
  run.status = sandbox::RunStatus::kFailed;
  run.finished_at_ms = base::now_ms();
  run.error = sandbox::RunError{"SandboxLost",
                                "the sandbox ended before this run did",
                                "",
                                sandbox::Cause::kSandboxLost,
                                "files kept, output so far kept",
                                "variables and processes lost"};
  for (auto [name, bytes] :
       {std::pair{"stdout", &run.stdout_bytes}, {"stderr", &run.stderr_bytes}}) {
    struct stat status {};
    const std::string path = files_of(row.session_id).run(row.id) + "/" + name;
    if (::lstat(path.c_str(), &status) == 0) *bytes = status.st_size;
  }
  return run;
}

bool Manager::was_accepted(const Run& row) const {
  struct stat status {};
  const std::string path = files_of(row.session_id).run(row.id);
  return ::lstat(path.c_str(), &status) == 0;
}

std::optional<sandbox::Run> Manager::read_record(const Run& row) const {
  const std::string path = files_of(row.session_id).record(row.id);
  const auto file = base::open_file(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file.ok()) return std::nullopt;
  // A record that a power cut left empty is as good as none.
  const auto text = base::read_all(file.value().get(), kRecordBytesMax);
  if (!text.ok()) return std::nullopt;
  const auto value = sandbox::wire::parse_json(text.value());
  if (!value.ok()) return std::nullopt;
  auto run = sandbox::run_from_json(value.value());
  if (!run.ok() || run.value().run_id != row.id) return std::nullopt;
  return std::move(run).value();
}

base::Result<sandbox::Run> Manager::commit(const Run& row, sandbox::Run run, Reader reader) {
  const bool is_read = reader == Reader::kClient;
  std::vector<FileRecord> files;
  for (const sandbox::FileChange& change : run.files_changed) {
    files.push_back({row.session_id, row.id, change.path, change.change, change.bytes, std::nullopt,
                     run.finished_at_ms});
  }
  const auto first =
      store_.finish_run(row.id, sandbox::name_of(run.status), run.finished_at_ms,
                        sandbox::wire::print_json(sandbox::run_to_json(run)), files, is_read);
  // A full disk: the row stays open and is settled later, from its box or its record.json.
  if (!first.ok() && first.error().kind == Error::Kind::kLimit) return run;
  if (TRY(first)) return run;
  // Somebody else knew before us: what is said of a run does not depend on who is asked.
  if (is_read) (void)store_.set_run_read(row.id);
  const auto earlier = TRY(store_.record_of_run(row.id));
  if (!earlier) return run;
  return sandbox::run_from_json(TRY(sandbox::wire::parse_json(*earlier)));
}

base::Result<RunState> Manager::cancel_run(const std::string& principal_id,
                                           const std::string& run_id) {
  const Run row = TRY(store_.find_run(principal_id, run_id));
  if (!row.record) {
    if (const auto box = sandbox_.find(row.session_id); box.ok()) {
      const auto cancelled = box.value()->cancel(run_id);
      if (!cancelled.ok() && cancelled.error().kind != Error::Kind::kNotFound) {
        return cancelled.error();
      }
    }
  }
  sandbox::WaitOptions options;
  options.timeout = std::chrono::seconds(10);  // longer than an interrupt may take to become a kill
  return wait_run(principal_id, run_id, options, {});
}

}  // namespace sessions
