// Starting programs without fork(2): posix_spawn(3) costs the same however large the caller is.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace base {

struct SpawnOptions {
  std::vector<std::string> arguments;    // arguments[0] is the path of the program
  std::vector<std::string> environment;  // "NAME=value", nothing is inherited
  // These are borrowed; they become 0, 1, 2, ... of the program, and everything above them is
  // closed.
  std::vector<int> descriptors;
  bool own_session = false;  // setsid(2): no signal of our terminal reaches it
};

// Returns the pid; the caller reaps it.
Result<pid_t> spawn(const SpawnOptions& options);

// Raises the limit of open descriptors to the most that this user may have. What is started later
// inherits it.
void raise_descriptor_limit();

// Returns the directory of the running program, without a slash at the end.
Result<std::string> executable_directory();

}  // namespace base
