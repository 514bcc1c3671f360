// Says in a run's note which limits its code has met in words that do not name them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sandbox/box/disk_room.h"
#include "sandbox/box_spec.h"
#include "sandbox/run.h"

namespace sandbox::box {

// Adds `what` to the run's note, unless the note says it already.
void add_note(Run& run, const std::string& what);

// Says that what earlier runs had left running was ended for what is on, or was.
std::string note_of_left_processes(const Limits& limits);
// Says that what a run is told to have done may be of others that ran beside it; empty where it is
// told of nothing.
std::string note_of_company(bool has_changed_files, bool has_used_network);

// Met says what a run has met, as far as the box itself knows.
struct Met {
  std::optional<DiskLimit> disk_limit = {};  // that it was stopped for
  // It was told of note_of_left_processes(): it has not started too much itself.
  bool left_filled_table = false;
};

// Adds remarks to a run that has ended, in a session as it is now, by what it has `met` and by the
// ends of its streams. These are text of the box, so what is added is advice, no verdict.
void add_remarks(Run& run, const BoxSpec& session, const Met& met, std::string_view stdout_tail,
                 std::string_view stderr_tail);

}  // namespace sandbox::box
