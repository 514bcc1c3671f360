#include "tools/cli/ending_signals.h"

#include <signal.h>
#include <sys/signalfd.h>

namespace tools::cli {

void block_signals(std::initializer_list<int> numbers) {
  sigset_t all;
  sigemptyset(&all);
  for (const int number : numbers) sigaddset(&all, number);
  (void)::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

void block_ending_signals() { block_signals({SIGTERM, SIGINT}); }

base::Result<base::UniqueFd> ending_signals() {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  base::UniqueFd signals(::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) return base::Error::from_errno("signalfd");
  return signals;
}

}  // namespace tools::cli
