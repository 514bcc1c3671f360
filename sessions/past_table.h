// Deletes the past in small steps, since others wait for the database meanwhile, and gives the room
// back. Safe from any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"
#include "sessions/session.h"

namespace sessions {

class FileTable;
class RunTable;
class Statement;
struct StoreFile;

// An OldRun is a run that has ended, and says whether it may go.
struct OldRun {
  std::string id;
  std::string session_id;
  std::int64_t finished_at = 0;
  std::int64_t queued_at = 0;
  std::int64_t bytes = 0;  // about what it takes, without its record where that was not asked for
  bool may_go = false;     // read, and not of the newest ones of a session that exists
};

class PastTable {
 public:
  // The newest runs of a session that exists stay, however old they are.
  static constexpr std::int64_t kNewestRunsKept = 1000;
  static constexpr std::int64_t kAnyTime = std::numeric_limits<std::int64_t>::max();

  // A Share says how much a principal has.
  struct Share {
    std::string principal_id;
    std::int64_t number = 0;
    std::int64_t bytes = 0;
  };

  PastTable(StoreFile& file, RunTable& runs, FileTable& files)
      : file_(file), runs_(runs), files_(files) {}

  // Records that nothing is left of it on the host; its host id is free again. What stays are the
  // session's own row without its variables, when and how its runs ended, what it has shared, and
  // the audit. May be repeated, and has to be where it failed.
  base::Status set_buried(const std::string& id);
  // Returns the oldest behind `after`, by their end, of those that ended before `ended_before`.
  base::Result<std::vector<OldRun>> old_runs(const OldRun& after, std::int64_t limit,
                                             std::int64_t ended_before = kAnyTime);
  // Returns those of one principal with their bytes, by when they were queued, up to the one with
  // which those that may go take `bytes_most` or more.
  base::Result<std::vector<OldRun>> old_runs_of(const std::string& principal_id,
                                                const OldRun& after, std::int64_t limit,
                                                std::int64_t bytes_most);
  base::Status delete_runs(const std::vector<std::string>& ids);
  // Returns about how many bytes all runs take.
  base::Result<std::int64_t> bytes_of_runs();
  // Returns those of each principal that have ended, the most bytes first.
  base::Result<std::vector<Share>> runs_of_principals();
  // Returns the buried sessions that ended first and have shared nothing that is left.
  base::Result<std::vector<Session>> oldest_deleted(std::int64_t limit);
  base::Result<std::vector<Session>> oldest_deleted_of(const std::string& principal_id,
                                                       std::int64_t limit);
  base::Result<std::int64_t> count_deleted();
  // Returns those of each principal, the most first; they have no bytes.
  base::Result<std::vector<Share>> deleted_of_principals();
  // Returns whether anything is on record that goes with time, beside sessions that exist: a shared
  // file with an end, a run that has ended, a deleted session.
  base::Result<bool> has_any();
  // Deletes some of the runs and of the audit of a deleted session, and then its row: true when
  // that is gone. In one transaction of bounded size.
  base::Result<bool> forget_some_of(const std::string& id);
  // Gives some of the pages that are free back to the file system; true when more are left. Then
  // the write-ahead log is emptied, which still has what was deleted.
  base::Result<bool> shrink();

 private:
  // Callers hold the mutex.
  base::Result<std::int64_t> free_pages();
  base::Result<std::vector<OldRun>> read_old_runs(Statement& select, std::int64_t bytes_most);
  static base::Result<std::vector<Share>> read_shares(Statement& select);

  StoreFile& file_;
  RunTable& runs_;
  FileTable& files_;
};

}  // namespace sessions
