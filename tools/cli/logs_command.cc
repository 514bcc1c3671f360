// hutch logs: what a run has printed, and prints; or where its time went.
#include <fcntl.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "sandbox/run.h"
#include "sandbox/run_trace.h"
#include "sessions/run_state.h"
#include "sessions/run_table.h"
#include "sessions/runs.h"
#include "sessions/sessions.h"
#include "sessions/store.h"
#include "tools/cli/commands.h"
#include "tools/cli/follow_run.h"
#include "tools/cli/own_command.h"
#include "tools/cli/terminal.h"

namespace tools::cli {

using base::Error;
using sessions::RunState;

namespace {

// Returns `id` where it is a run's, else the id of the newest run of the session that it names.
// Fails with kNotFound where nothing has run in that session yet, and where there is neither.
base::Result<std::string> run_meant_by(Application& app, const std::string& id) {
  if (const auto run = app.store().runs.find(app.principal_id(), id); run.ok()) return id;
  const auto session = app.services().sessions.find(app.principal_id(), id);
  if (!session.ok()) {
    if (session.error().kind != Error::Kind::kNotFound) return session.error();
    return base::error(Error::Kind::kNotFound,
                       "there is no run or session " + id + " of yours; `" +
                           own_command(app.settings(), process_environment()) +
                           " sessions ls` shows the sessions there are");
  }
  const auto runs = TRY(app.store().runs.of_session(session.value().id, 1));
  if (!runs.empty()) return runs.front().id;
  return base::error(Error::Kind::kNotFound, "nothing has run in " + id + " yet");
}

// Prints a line for each place that the run has passed: when, how long after the one before, who
// says so, and which place. Fails with kNotFound where there is none; `whose` names the trace.
base::Result<int> print_trace(const sandbox::RunTrace& trace, const std::string& whose) {
  if (trace.empty()) {
    return base::error(Error::Kind::kNotFound, whose +
                                                   " has no trace: it ended without a box, or an "
                                                   "older hutch has run it");
  }
  std::vector<std::pair<std::int64_t, sandbox::Hop>> passed;
  for (std::size_t number = 0; number < sandbox::kHops; ++number) {
    const auto hop = static_cast<sandbox::Hop>(number);
    if (const auto at = trace.at_us(hop)) passed.emplace_back(*at, hop);
  }
  std::stable_sort(passed.begin(), passed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::cout << std::fixed << std::setprecision(1);
  std::int64_t before = passed.empty() ? 0 : passed.front().first;
  for (const auto& [at, hop] : passed) {
    const auto [process, words] = sandbox::words_of(hop);
    const auto ms = [](std::int64_t us) { return static_cast<double>(us) / 1000; };
    std::cout << std::setw(10) << ms(at - passed.front().first) << " ms  +" << std::left
              << std::setw(9) << ms(at - before) << std::setw(13) << process << words << "\n"
              << std::right;
    before = at;
  }
  return 0;
}

}  // namespace

base::Result<int> run_logs(Application& app, const LogsOptions& options) {
  const std::string run_id = TRY(run_meant_by(app, options.id));
  if (options.trace) {
    const RunState state = TRY(app.services().runs.get(app.principal_id(), run_id));
    return print_trace(state.run.trace, run_id);
  }
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

base::Result<int> show_record(const std::string& path) {
  const base::UniqueFd file = TRY(base::open_file(AT_FDCWD, path, O_RDONLY));
  const auto record = base::parse_json(TRY(base::read_all(file.get(), sandbox::kRecordBytesMax)));
  if (!record.ok() || !record.value().is_object() || !record.value().contains("run_id")) {
    return base::error(Error::Kind::kInvalid, path + " is not the record of a run");
  }
  const auto trace = sandbox::RunTrace::from_json(record.value().value("trace", nlohmann::json()));
  return print_trace(trace, path);
}

}  // namespace tools::cli
