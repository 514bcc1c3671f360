// Rows of runs, and how each of them ended. Safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "sessions/file_record.h"

namespace sandbox {
struct Run;
}

namespace sessions {

struct StoreFile;

// A Run is everything that is known of a run but its end, which may be large.
struct Run {
  std::string id;
  std::string session_id;
  std::string language;
  std::string status = "queued";
  bool background = false;
  std::string code_sha256;
  std::string server_id;
  std::int64_t queued_at = 0;
  std::optional<std::int64_t> finished_at;
  bool was_read = false;  // its end, by a client

  [[nodiscard]] bool has_ended() const { return finished_at.has_value(); }
};

// A RunPlace is the place of a run among those of its principal.
struct RunPlace {
  std::int64_t queued_at = 0;
  std::string id;
};

// Says whether a client hears of a run's end: as it ends, or because it came back to ask.
enum class EndRead { kNot, kAsItEnds, kLater };

struct RunCount {
  std::int64_t runs = 0;
  std::int64_t milliseconds = 0;  // from the queue to the end; of those that have ended
};

struct Counts {
  std::map<std::string, RunCount> runs;
  std::map<std::string, std::int64_t> sessions;  // spare ones are nobody's, and are not among them
};

class RunTable {
 public:
  explicit RunTable(StoreFile& file) : file_(file) {}

  base::Status insert(const Run& run);
  base::Status set_started(const std::string& run_id);
  // Records the end of a run and its `files`. The first end wins: returns false when there was one
  // already. Of a session that is buried neither is kept, see PastTable::set_buried().
  base::Result<bool> finish(const std::string& run_id, const sandbox::Run& end,
                            const std::vector<FileRecord>& files, EndRead read = EndRead::kNot);
  // A client reads the end, which nobody had.
  base::Status set_read(const std::string& run_id, EndRead read = EndRead::kLater);
  // Returns how it ended; nothing while it has not. Fails where what is kept of that cannot be
  // read.
  base::Result<std::optional<sandbox::Run>> end_of(const std::string& run_id);
  // Fails with kNotFound, which is the same for a foreign run and an unknown one.
  base::Result<Run> find(const std::string& principal_id, const std::string& run_id);
  // Returns the newest first.
  base::Result<std::vector<Run>> of_session(const std::string& session_id, std::int64_t limit);
  // Returns the runs of all sessions of the principal behind that place in the list, the newest
  // first.
  base::Result<std::vector<Run>> newest(const std::string& principal_id,
                                        const std::optional<RunPlace>& before, std::int64_t limit);
  base::Result<std::vector<Run>> unfinished(const std::string& session_id);
  // Makes the records of a destroyed session short: see erased_run(). Takes the mutex again and
  // again, so that others have their turn in between.
  base::Status erase_records(const std::string& session_id);

  // Returns the sessions of all principals that have a run which is not over, but for paused
  // ones.
  base::Result<std::set<std::string>> busy_sessions();
  // Returns the languages in which anybody has run something since then, to within a minute.
  base::Result<std::set<std::string>> recent_languages(std::int64_t since_ms);
  // Returns the counts of all principals by status. Those of ended runs and of sessions were kept
  // as things happened: there is no look at all rows.
  base::Result<Counts> counts();

 private:
  // Callers hold the mutex.
  base::Result<std::optional<Run>> run_of_buried_session(const std::string& run_id);
  base::Status replace_record(const std::string& run_id, const std::string& record);

  StoreFile& file_;
};

}  // namespace sessions
