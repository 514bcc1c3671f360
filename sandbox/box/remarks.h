// What a run's note says of limits that its code has met in words that do not name them.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/box_spec.h"
#include "sandbox/run.h"

namespace sandbox::box {

// Beside what its note says already, which may be said only once.
void add_note(Run& run, const std::string& what);

// Of a run that has ended, in a session as it is now, with the ends of its streams. Text of the
// box: it is advice, no verdict.
void add_remarks(Run& run, const BoxSpec& session, std::string_view stdout_tail,
                 std::string_view stderr_tail);

}  // namespace sandbox::box
