// Counts how much of old outputs a box has dropped to make room: hutch-box counts it in a file of
// the session, and a server takes the count from there and says it in its log.
#pragma once

#include <cstdint>

namespace sandbox {

struct DroppedOutputs {
  std::int64_t runs = 0;
  std::int64_t bytes = 0;
};

// `session_fd` is the session's directory, in which nothing of a box writes. False: it is to be
// added later, since somebody is about to take what was counted, or it could not be written.
bool add_dropped_outputs(int session_fd, const DroppedOutputs& more);

// Returns what was counted since this was called last.
DroppedOutputs take_dropped_outputs(int session_fd);

}  // namespace sandbox
