// Tells how long a session goes on. Without a start of the machine since it was made, no change of
// the wall clock makes that longer or shorter.
#pragma once

#include <cstdint>
#include <optional>

#include "sessions/moment.h"
#include "sessions/session.h"

namespace sessions {

// Returns how long its lifetime goes on, nothing: for ever.
std::optional<std::int64_t> lifetime_left_ms(const Session& session, const Moment& now);
// Returns when it ends, by the wall clock of now.
std::optional<std::int64_t> ends_at_ms(const Session& session);
bool lifetime_is_over(const Session& session, const Moment& now = moment_now());
// Returns whether it is neither destroyed nor about to be, its lifetime being over.
bool is_live(const Session& session, const Moment& now = moment_now());
// Returns the lifetime, counted from when it was made, of a session that is to end so long from
// now. Whole seconds: never shorter than that.
std::int64_t lifetime_to_end_in(const Session& session, std::int64_t seconds, const Moment& now);

}  // namespace sessions
