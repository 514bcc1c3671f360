// Ends of runs, as boxes tell them.
#pragma once

#include <cstdint>
#include <string>

#include "base/random_id.h"
#include "sandbox/run.h"

namespace sessions::testing {

inline sandbox::Run end_at(std::int64_t finished_at_ms,
                           sandbox::RunStatus status = sandbox::RunStatus::kCompleted,
                           const std::string& note = "") {
  sandbox::Run run;
  run.run_id = base::short_id("run_");
  run.status = status;
  run.finished_at_ms = finished_at_ms;
  run.note = note;
  return run;
}

}  // namespace sessions::testing
