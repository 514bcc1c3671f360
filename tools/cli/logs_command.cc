// hutch logs: what a run has printed, and prints.
#include "sessions/run_state.h"
#include "sessions/run_table.h"
#include "sessions/runs.h"
#include "sessions/sessions.h"
#include "tools/cli/commands.h"
#include "tools/cli/follow_run.h"
#include "tools/cli/terminal.h"

namespace tools::cli {

using base::Error;
using sessions::RunState;

namespace {

// Returns `id` where it is a run's, else the id of the newest run of the session that it names.
// Fails with kNotFound where nothing has run in that session yet.
base::Result<std::string> run_meant_by(Application& app, const std::string& id) {
  if (const auto run = app.store().runs.find(app.principal_id(), id); run.ok()) return id;
  const auto session = TRY(app.services().sessions.find(app.principal_id(), id));
  const auto runs = TRY(app.store().runs.of_session(session.id, 1));
  if (!runs.empty()) return runs.front().id;
  return base::error(Error::Kind::kNotFound, "nothing has run in " + id + " yet");
}

}  // namespace

base::Result<int> run_logs(Application& app, const LogsOptions& options) {
  const std::string run_id = TRY(run_meant_by(app, options.id));
  const Interruptible interruptible;
  RunState state = TRY(app.services().runs.get(app.principal_id(), run_id));
  std::stop_source now;
  if (!options.follow) (void)now.request_stop();
  state =
      TRY(follow(app, std::move(state), options.follow ? interruptible.token() : now.get_token(),
                 OnInterrupt::kLeave, WhenUnread::kInterrupt, Printed::kByCode));
  if (!is_terminal(state.run.status)) {
    tell(run_id + " goes on" + (options.follow ? "" : "; -f follows it"));
  } else if (state.run.error) {
    tell(std::string(name_of(state.run.status)) + ": " + state.run.error->message);
  }
  return 0;
}

}  // namespace tools::cli
