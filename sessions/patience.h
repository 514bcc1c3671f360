// Says how long this layer waits for what another process does to a session.
#pragma once

#include <chrono>
#include <functional>

namespace sessions {

// A box may take so long to end.
inline constexpr std::chrono::seconds kEndPatience{5};
// Another server may take so long to start a box, or to clear up after one.
inline constexpr std::chrono::seconds kOthersPatience{20};

// Waits some milliseconds: the rhythm in which another process's box is looked at.
void pause_for_box();
// Asks `is_so` in that rhythm; returns false when it has not come true by then.
bool wait_until(std::chrono::milliseconds patience, const std::function<bool()>& is_so);

}  // namespace sessions
