// Runs that were started with on_wake, and whose box ended before they did: the session's next box
// starts them anew, each as a new run. For who holds the session's lock. Safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/run.h"
#include "sessions/session.h"

namespace sandbox {
class Box;
}

namespace sessions {

class RunLedger;
class RunTable;
struct Ground;

class Restarts {
 public:
  Restarts(const Ground& ground, RunTable& runs, RunLedger& ledger)
      : ground_(ground), runs_(runs), ledger_(ledger) {}

  // Returns the requests of those runs, under ids of their own, which they have from now on: what
  // ends between this and begin() costs none of them. What cannot be read as one is left alone.
  [[nodiscard]] std::vector<sandbox::RunRequest> due(const Session& session) const;
  // Hands them to the session's box. One that it refuses has that on record, and is tried again
  // with the box after this.
  void begin(const Session& session, sandbox::Box& box,
             const std::vector<sandbox::RunRequest>& requests) const;

  // Says which run each of them stands for; empty without any.
  static std::string note_of(const std::vector<sandbox::RunRequest>& requests);

 private:
  base::Status begin(const Session& session, sandbox::Box& box, sandbox::RunRequest request) const;

  const Ground& ground_;
  RunTable& runs_;
  RunLedger& ledger_;
};

}  // namespace sessions
