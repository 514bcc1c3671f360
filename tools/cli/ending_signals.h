// How a server is told to end: SIGTERM and SIGINT. signalfd(2)
#pragma once

#include <initializer_list>

#include "sandbox/base/fd.h"
#include "sandbox/base/result.h"

namespace tools::cli {

// In this thread, and those that it starts.
void block_signals(std::initializer_list<int> numbers);
void block_ending_signals();

// Readable once one of them has come. main() has blocked them in every thread.
base::Result<base::UniqueFd> ending_signals();

}  // namespace tools::cli
