#include "sessions/record_pruner.h"

#include <fcntl.h>
#include <unistd.h>

#include <map>

#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/files/tree.h"
#include "sessions/past_table.h"
#include "sessions/patience.h"
#include "sessions/session_directory.h"

namespace sessions {

namespace {

constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::int64_t kMegabyte = 1 << 20;
// Each step is one query and one transaction; the next sweep goes on behind the last one.
constexpr std::int64_t kRunsInAStep = 100;
constexpr std::int64_t kDeletedInAStep = 20;
constexpr int kStepsMax = 100;

}  // namespace

void RecordPruner::prune(const std::stop_token& stop, const Moment& now) {
  const std::lock_guard one_at_a_time(mutex_);
  const Retention& retention = ground_.config.retention;
  const std::int64_t runs_before = now.now_ms - retention.runs_days * kDayMs;
  for (int step = 0; step < kStepsMax && !stop.stop_requested(); ++step) {
    if (!prune_some_runs(runs_before)) break;
    pause_for_box();  // tools want the database too
  }
  const std::int64_t ended_before = now.now_ms - retention.deleted_days * kDayMs;
  for (int step = 0; step < kStepsMax && !stop.stop_requested(); ++step) {
    if (!forget_some_sessions(ended_before, stop)) break;
  }
}

// False: there are no others for now.
bool RecordPruner::prune_some_runs(std::int64_t ended_before) {
  const auto bytes = past_.bytes_of_runs();
  if (!bytes.ok()) return false;
  const bool too_many = bytes.value() > ground_.config.retention.runs_mb * kMegabyte;
  // Whether a run is kept costs a look at its session's newest: only those are looked at that go.
  const auto runs =
      past_.old_runs(pruned_up_to_, kRunsInAStep, too_many ? PastTable::kAnyTime : ended_before);
  if (!runs.ok()) return false;
  std::map<std::string, std::vector<std::string>> by_session;
  for (const OldRun& run : runs.value()) {
    pruned_up_to_ = run;
    if (run.may_go) by_session[run.session_id].push_back(run.id);
  }
  for (const auto& [session_id, ids] : by_session) {
    // Files go first: a row without them is found again.
    remove_run_files(session_id, ids);
    if (!past_.delete_runs(ids).ok()) return false;
    ground_.config.notify({Notice::Level::kInfo,
                           std::to_string(ids.size()) + " runs deleted" +
                               (too_many ? ", the oldest: all take more than runs_mb, "
                                         : ": they ended before runs_days, ") +
                               ids.front() + " to " + ids.back(),
                           "", session_id});
  }
  if (runs.value().empty()) pruned_up_to_ = {};
  return !runs.value().empty();
}

void RecordPruner::remove_run_files(const std::string& session_id,
                                    const std::vector<std::string>& ids) const {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  const SessionDirectory files = ground_.files_of(session_id);
  const auto runs = base::open_file(AT_FDCWD, files.runs(), kFlags);
  const auto calls = base::open_file(AT_FDCWD, files.calls(), kFlags);
  for (const std::string& id : ids) {
    if (runs.ok()) (void)sandbox::files::remove_tree(runs.value().get(), id);
    if (calls.ok()) (void)::unlinkat(calls.value().get(), id.c_str(), 0);
  }
}

// Returns whether more is left to do, as prune_some_runs() does.
bool RecordPruner::forget_some_sessions(std::int64_t ended_before,
                                        const std::stop_token& stop) const {
  const auto count = past_.count_deleted();
  const auto oldest = past_.oldest_deleted(kDeletedInAStep);
  if (!count.ok() || !oldest.ok()) return false;
  std::int64_t left = count.value();
  for (const Session& session : oldest.value()) {
    const bool is_old = session.ended_at.value_or(0) < ended_before;
    if (!is_old && left <= ground_.config.retention.deleted_sessions) return false;
    while (true) {
      if (stop.stop_requested()) return false;
      const auto gone = past_.forget_some_of(session.id);
      if (!gone.ok()) return false;
      pause_for_box();
      if (gone.value()) break;
    }
    --left;
    ground_.config.notify({Notice::Level::kInfo,
                           "record of a session deleted, which ended " +
                               base::to_rfc3339(session.ended_at.value_or(0)) +
                               (is_old ? ": longer ago than deleted_days"
                                       : ", the oldest: there are more than deleted_sessions"),
                           session.principal_id, session.id});
  }
  return !oldest.value().empty();
}

}  // namespace sessions
