#include "tools/cli/ending_signals.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>

namespace tools::cli {
namespace {

bool is_ignored(int number) {
  struct sigaction now {};
  return ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

void block_signals(std::initializer_list<int> numbers) {
  sigset_t all;
  sigemptyset(&all);
  for (const int number : numbers) sigaddset(&all, number);
  (void)::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

void block_ending_signals() { block_signals({SIGTERM, SIGINT, SIGHUP}); }

base::Result<base::UniqueFd> ending_signals() {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  if (!is_ignored(SIGHUP)) sigaddset(&ending, SIGHUP);
  base::UniqueFd signals(::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) return base::Error::from_errno("signalfd");
  return signals;
}

bool has_controlling_terminal() {
  return base::open_file(AT_FDCWD, "/dev/tty", O_RDONLY | O_NOCTTY).ok();
}

}  // namespace tools::cli
