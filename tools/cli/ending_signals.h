// How a server is told to end: SIGTERM and SIGINT. signalfd(2)
#pragma once

#include "sandbox/base/fd.h"
#include "sandbox/base/result.h"

namespace tools::cli {

// Readable once one of them has come. main() has blocked them in every thread.
base::Result<base::UniqueFd> ending_signals();

}  // namespace tools::cli
