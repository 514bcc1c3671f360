// Says in a run's note which limits its code has met in words that do not name them.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/box_spec.h"
#include "sandbox/run.h"

namespace sandbox::box {

// Adds `what` to the run's note, unless the note says it already.
void add_note(Run& run, const std::string& what);

// Says that what earlier runs had left running was ended for what is on, or was. A run that has it
// in its note is not told that it has started too much.
std::string note_of_left_processes(const Limits& limits);

// Adds remarks to a run that has ended, in a session as it is now, by the ends of its streams.
// These are text of the box, so what is added is advice, no verdict.
void add_remarks(Run& run, const BoxSpec& session, std::string_view stdout_tail,
                 std::string_view stderr_tail);

}  // namespace sandbox::box
