#include "sessions/run_record.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace sessions {
namespace {

base::Result<sandbox::Run> parse(const std::string& record) {
  return sandbox::run_from_json(TRY(base::parse_json(record)));
}

}  // namespace

sandbox::Run run_of(const RunHead& row) {
  sandbox::Run run;
  run.run_id = row.id;
  run.language = sandbox::find_language(row.language).value_or(sandbox::Language::kPython);
  run.status = sandbox::find_run_status(row.status).value_or(sandbox::RunStatus::kQueued);
  run.background = row.background;
  run.queued_at_ms = row.queued_at;
  run.finished_at_ms = row.finished_at.value_or(0);
  return run;
}

std::string erased_record(const Run& row) {
  sandbox::Run kept = run_of(row);
  // One that cannot be read has nothing to keep.
  if (const auto run = parse(row.record.value_or("")); run.ok()) {
    kept.started_at_ms = run.value().started_at_ms;
    kept.duration_ms = run.value().duration_ms;
    kept.exit_code = run.value().exit_code;
    if (const auto& failure = run.value().error) {
      kept.error = sandbox::RunError{"Deleted", "what was said of it was deleted with its session",
                                     "",        failure->cause,
                                     "",        ""};
    }
  }
  kept.note = "its session was deleted, and its output with it";
  return base::print_json(sandbox::run_to_json(kept));
}

}  // namespace sessions
