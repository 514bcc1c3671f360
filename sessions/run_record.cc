#include "sessions/run_record.h"

namespace sessions {

sandbox::Run run_of(const Run& row) {
  sandbox::Run run;
  run.run_id = row.id;
  run.language = sandbox::find_language(row.language).value_or(sandbox::Language::kPython);
  run.status = sandbox::find_run_status(row.status).value_or(sandbox::RunStatus::kQueued);
  run.background = row.background;
  run.queued_at_ms = row.queued_at;
  run.finished_at_ms = row.finished_at.value_or(0);
  return run;
}

sandbox::Run erased_run(const Run& row, const sandbox::Run& end) {
  sandbox::Run kept = run_of(row);
  kept.started_at_ms = end.started_at_ms;
  kept.duration_ms = end.duration_ms;
  kept.exit_code = end.exit_code;
  if (const auto& failure = end.error) {
    kept.error = sandbox::RunError{
        "Deleted", "what was said of it was deleted with its session", "", failure->cause, "", ""};
  }
  kept.note = "its session was deleted, and its output with it";
  return kept;
}

}  // namespace sessions
