// Runs a program of the operator's and returns what it prints.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "base/process.h"
#include "base/result.h"

namespace tools::cli {

// Its standard input is empty, its standard error ours; `options.descriptors` is not used. It and
// what it has started end with this. kUnavailable: it has failed, or not ended in time; kLimit: it
// prints more than `bytes_max`. The message goes on behind its name. For a process with one thread.
base::Result<std::string> output_of(base::SpawnOptions options, std::size_t bytes_max,
                                    std::chrono::seconds patience);

}  // namespace tools::cli
