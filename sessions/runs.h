// Runs of sessions, as clients ask for them. A run that was accepted goes on whatever becomes of
// this server. Safe from any thread.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "sandbox/run.h"
#include "sandbox/run_input.h"
#include "sandbox/sandbox.h"
#include "sessions/run_state.h"
#include "sessions/session.h"

namespace sessions {

class Boxes;
class RunLedger;
class RunTable;
struct Ground;
struct Run;

class Runs {
 public:
  Runs(const Ground& ground, RunTable& runs, RunLedger& ledger, Boxes& boxes)
      : ground_(ground), runs_(runs), ledger_(ledger), boxes_(boxes) {}

  // Returns how many seconds a run of the session may last: what the session was made with, or else
  // what the operator allows.
  [[nodiscard]] std::int64_t longest_seconds(const Session& session) const;
  // Returns `wanted`, or kInvalid when it is more than that.
  [[nodiscard]] base::Result<std::int64_t> check_seconds(const Session& session,
                                                         std::int64_t wanted) const;
  base::Result<RunState> start(const Session& session, sandbox::RunRequest request);
  // Returns any run of the principal as it is now, live or long ended.
  base::Result<RunState> get(const std::string& principal_id, const std::string& run_id,
                             Reader reader = Reader::kLater);
  // Waits as Box::wait() does, for any run of the principal. Once `stop` is requested, an end is
  // recorded but not marked as read.
  base::Result<RunState> wait(const std::string& principal_id, const std::string& run_id,
                              const sandbox::WaitOptions& options, const std::stop_token& stop,
                              Reader reader = Reader::kClient);
  base::Result<RunState> cancel(const std::string& principal_id, const std::string& run_id);
  // Returns the end that writes to the standard input of a run, which was started with one and
  // is on.
  base::Result<sandbox::RunInput> input_of(const std::string& principal_id,
                                           const std::string& run_id);
  base::Status end_input(const std::string& principal_id, const std::string& run_id);

 private:
  // Hands the run to the session's box, which is `box` if it still lives.
  base::Status submit(const Session& session, std::shared_ptr<sandbox::Box> box, const Run& row,
                      const sandbox::RunRequest& request);
  // Waits for the run of `row`, and reads the row again after each pause, since another server may
  // have recorded the end.
  base::Result<RunState> wait_for(const std::string& principal_id, Run row,
                                  const sandbox::WaitOptions& options, const std::stop_token& stop,
                                  Reader reader);
  // Returns the live box of a run that has not ended.
  base::Result<std::shared_ptr<sandbox::Box>> box_of_run(const std::string& principal_id,
                                                         const std::string& run_id);

  const Ground& ground_;
  RunTable& runs_;
  RunLedger& ledger_;
  Boxes& boxes_;
};

}  // namespace sessions
