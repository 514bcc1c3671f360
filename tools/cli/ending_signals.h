// hutch is told to end by SIGTERM, SIGINT, and by SIGHUP, as when its terminal goes away.
// signalfd(2)
#pragma once

#include <initializer_list>

#include "base/fd.h"
#include "base/result.h"

namespace tools::cli {

// Blocks the signals in this thread, and in those that it starts.
void block_signals(std::initializer_list<int> numbers);
void block_ending_signals();

// Readable once one of them has come. main() has blocked them in every thread. SIGHUP is none of
// them for whoever has it ignored, as nohup(1) does.
base::Result<base::UniqueFd> ending_signals();

// The end of such a terminal would be told by SIGHUP.
bool has_controlling_terminal();

}  // namespace tools::cli
