// A RunInput writes to the standard input of a run. A server gets it from the box: no process is in
// between. It has one owner, on one thread.
#pragma once

#include <chrono>
#include <stop_token>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/run.h"

namespace sandbox {

struct RunInput {
  base::UniqueFd fd;  // not blocking: of a pipe, or the master of a terminal
  bool is_terminal = false;
};

// Writes all of `bytes`, and waits for a process that reads slowly: at most for `patience` without
// progress, then the Error is kConflict. kNotFound: nobody will read it any more.
base::Status write_input(const RunInput& input, std::string_view bytes,
                         std::chrono::milliseconds patience);

// Sets the size of a terminal (TIOCSWINSZ, ioctl_tty(2)): what runs in it gets SIGWINCH.
base::Status set_terminal_size(int fd, TerminalSize size);

}  // namespace sandbox
