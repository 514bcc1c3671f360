#include "tools/cli/serve_signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "tools/cli/ending_signals.h"

namespace tools::cli {

using base::Error;

namespace {

base::Result<base::UniqueFd> make_event() {
  base::UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return Error::from_errno("eventfd");
  return event;
}

void raise_event(const base::UniqueFd& event) {
  const std::uint64_t one = 1;
  (void)!::write(event.get(), &one, sizeof one);
}

// Whoever ignores it, as nohup(1) has it, ignores it without a terminal, too: it is asked for then.
base::Result<base::UniqueFd> signals_of_service() {
  sigset_t all;
  sigemptyset(&all);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&all, number);
  base::UniqueFd signals(::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) return Error::from_errno("signalfd");
  return signals;
}

}  // namespace

base::Result<std::unique_ptr<ServeSignals>> ServeSignals::watch(std::function<void()> reload) {
  // Later it could be gone.
  const bool ends = has_controlling_terminal();
  base::UniqueFd signals = TRY(ends ? ending_signals() : signals_of_service());
  base::UniqueFd ending = TRY(make_event());
  base::UniqueFd over = TRY(make_event());
  return std::unique_ptr<ServeSignals>(
      new ServeSignals(std::move(signals), std::move(ending), std::move(over),
                       ends ? std::function<void()>() : std::move(reload)));
}

ServeSignals::ServeSignals(base::UniqueFd signals, base::UniqueFd ending, base::UniqueFd over,
                           std::function<void()> reload)
    : signals_(std::move(signals)),
      ending_(std::move(ending)),
      over_(std::move(over)),
      reload_(std::move(reload)),
      thread_([this] { take_signals(); }) {}

ServeSignals::~ServeSignals() {
  raise_event(over_);
  thread_.join();
}

void ServeSignals::take_signals() {
  while (true) {
    std::array<pollfd, 2> entries{pollfd{signals_.get(), POLLIN, 0},
                                  pollfd{over_.get(), POLLIN, 0}};
    if (::poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR) return;
    if (entries[1].revents != 0) return;
    signalfd_siginfo signal{};
    if (::read(signals_.get(), &signal, sizeof signal) != static_cast<ssize_t>(sizeof signal)) {
      continue;
    }
    if (signal.ssi_signo == SIGHUP && reload_) {
      reload_();
    } else {
      raise_event(ending_);
    }
  }
}

}  // namespace tools::cli
