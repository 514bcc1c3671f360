// Asking many boxes at once: one that is slow keeps nobody waiting but itself.
#pragma once

#include <cstddef>
#include <functional>

namespace sessions {

// Calls `each` for 0 to count - 1, from up to 16 threads, of which the caller's is one; returns
// when all are done. `each` is called from several threads.
void at_once(std::size_t count, const std::function<void(std::size_t)>& each);

}  // namespace sessions
