#include "sessions/record_pruner.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

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
// Each step is a few queries and transactions of bounded size, with a pause behind each; the next
// sweep goes on behind the last one.
constexpr std::int64_t kRunsInAStep = 100;
constexpr std::int64_t kDeletedInAStep = 20;
constexpr int kStepsMax = 100;

}  // namespace

void RecordPruner::prune(const std::stop_token& stop, const Moment& now) {
  const std::lock_guard one_at_a_time(mutex_);
  const auto go_on = [&stop](const auto& do_step) {
    for (int step = 0; step < kStepsMax && !stop.stop_requested(); ++step) {
      if (!do_step()) break;
      pause_for_box();  // tools want the database too
    }
  };
  const Retention& retention = ground_.config.retention;
  const std::int64_t runs_before = now.now_ms - retention.runs_days * kDayMs;
  go_on([&] { return prune_some_old_runs(runs_before); });
  std::map<std::string, int> fruitless;
  go_on([&] { return prune_some_of_most_runs(fruitless); });
  const std::int64_t ended_before = now.now_ms - retention.deleted_days * kDayMs;
  go_on([&] { return forget_some_old_sessions(ended_before, stop); });
  go_on([&] { return forget_some_of_most_sessions(stop); });
}

// Each step returns whether another one may find more.
bool RecordPruner::prune_some_old_runs(std::int64_t ended_before) {
  // To learn whether a run is kept costs a look at its session's newest: only those are looked at
  // that go.
  const auto runs = past_.old_runs(pruned_up_to_, kRunsInAStep, ended_before);
  if (!runs.ok()) return false;
  pruned_up_to_ = runs.value().empty() ? OldRun() : runs.value().back();
  return delete_runs(runs.value(), ": they ended before runs_days, ") && !runs.value().empty();
}

bool RecordPruner::prune_some_of_most_runs(std::map<std::string, int>& fruitless) {
  const auto bytes = past_.bytes_of_runs();
  const std::int64_t most = ground_.config.retention.runs_mb * kMegabyte;
  if (!bytes.ok() || bytes.value() <= most) return false;
  const auto shares = past_.runs_of_principals();
  if (!shares.ok() || shares.value().empty()) return false;
  const std::int64_t part = most / std::ssize(shares.value());
  // Whoever has more, but nothing among the oldest that may go, is asked less often.
  const PastTable::Share* chosen = nullptr;
  int least = kStepsMax;
  for (const PastTable::Share& share : shares.value()) {
    if (share.bytes <= part || fruitless[share.principal_id] >= least) continue;
    least = fruitless[share.principal_id];
    chosen = &share;
  }
  if (chosen == nullptr) return false;
  const std::string& principal_id = chosen->principal_id;
  const std::int64_t over = std::min(bytes.value() - most, chosen->bytes - part);
  const auto old =
      past_.old_runs_of(principal_id, pruned_of_up_to_[principal_id], kRunsInAStep, over);
  if (!old.ok()) return false;
  const std::vector<OldRun>& runs = old.value();
  if (runs.empty()) {
    fruitless[principal_id] = kStepsMax;  // the next sweep begins with the oldest
    pruned_of_up_to_.erase(principal_id);
    return true;
  }
  pruned_of_up_to_[principal_id] = runs.back();
  const auto deleted =
      delete_runs(runs, ", the oldest of who has most: all take more than runs_mb, ");
  if (deleted && *deleted == 0) ++fruitless[principal_id];
  return deleted.has_value();
}

std::optional<std::size_t> RecordPruner::delete_runs(const std::vector<OldRun>& runs,
                                                     const std::string& why) {
  std::map<std::string, std::vector<std::string>> by_session;
  for (const OldRun& run : runs) {
    if (run.may_go) by_session[run.session_id].push_back(run.id);
  }
  std::size_t deleted = 0;
  for (const auto& [session_id, ids] : by_session) {
    // Files go first: a row without them is found again.
    remove_run_files(session_id, ids);
    if (!past_.delete_runs(ids).ok()) return std::nullopt;
    deleted += ids.size();
    ground_.config.notify(
        {Notice::Level::kInfo,
         std::to_string(ids.size()) + " runs deleted" + why + ids.front() + " to " + ids.back(), "",
         session_id});
  }
  return deleted;
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

bool RecordPruner::forget_some_old_sessions(std::int64_t ended_before,
                                            const std::stop_token& stop) const {
  const auto oldest = past_.oldest_deleted(kDeletedInAStep);
  if (!oldest.ok()) return false;
  for (const Session& session : oldest.value()) {
    if (session.ended_at.value_or(0) >= ended_before) return false;
    if (!forget(session, ": longer ago than deleted_days", stop)) return false;
  }
  return !oldest.value().empty();
}

bool RecordPruner::forget_some_of_most_sessions(const std::stop_token& stop) const {
  const auto count = past_.count_deleted();
  const std::int64_t most = ground_.config.retention.deleted_sessions;
  if (!count.ok() || count.value() <= most) return false;
  const auto shares = past_.deleted_of_principals();
  if (!shares.ok() || shares.value().empty()) return false;
  const std::int64_t part = most / std::ssize(shares.value());
  for (const PastTable::Share& share : shares.value()) {
    if (share.number <= part) break;
    const auto oldest = past_.oldest_deleted_of(
        share.principal_id, std::min({count.value() - most, share.number - part, kDeletedInAStep}));
    if (!oldest.ok()) return false;
    for (const Session& session : oldest.value()) {
      if (!forget(session, ", the oldest of who has most: there are more than deleted_sessions",
                  stop)) {
        return false;
      }
    }
    if (!oldest.value().empty()) return true;  // the next one's where all of these share
  }
  return false;
}

// With its runs, also those that nobody has read.
bool RecordPruner::forget(const Session& session, const std::string& why,
                          const std::stop_token& stop) const {
  while (true) {
    if (stop.stop_requested()) return false;
    const auto gone = past_.forget_some_of(session.id);
    if (!gone.ok()) return false;
    if (gone.value()) break;
    pause_for_box();
  }
  ground_.config.notify({Notice::Level::kInfo,
                         "record of a session deleted, which ended " +
                             base::to_rfc3339(session.ended_at.value_or(0)) + why,
                         session.principal_id, session.id});
  pause_for_box();
  return true;
}

}  // namespace sessions
