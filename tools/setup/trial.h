// Makes one real run through an entry as it was written: what a client will do with it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace tools::setup {

struct Trial {
  std::string server;  // "hutch 0.1.0"
  std::chrono::milliseconds took{};
};

// Starts `words` with an environment as bare as clients give, and has it run a line of Python. The
// session goes with it. kUnavailable: it does not start, answer in time, or calculate; and why.
base::Result<Trial> try_entry(const std::vector<std::string>& words, const std::string& home);

}  // namespace tools::setup
