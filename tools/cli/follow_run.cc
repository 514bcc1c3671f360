#include "tools/cli/follow_run.h"

#include <poll.h>
#include <unistd.h>

#include <iostream>

#include "sessions/follow.h"
#include "sessions/run_state.h"
#include "sessions/runs.h"
#include "tools/cli/ending_signals.h"
#include "tools/cli/terminal.h"

namespace tools::cli {

using sessions::RunState;

namespace {

constexpr int kLookMs = 100;

base::Status print(int fd, std::string_view bytes, Printed printed) {
  if (printed == Printed::kByTerminal) return base::write_all(fd, bytes);
  return print_of_sandbox(fd == STDERR_FILENO ? std::cerr : std::cout, bytes);
}

}  // namespace

Interruptible::Interruptible() {
  auto signals = ending_signals();
  if (signals.ok()) signals_ = std::move(signals).value();
  watcher_ = std::jthread([this](const std::stop_token& over) {
    while (!over.stop_requested()) {
      pollfd entry{signals_.get(), POLLIN, 0};
      if (::poll(&entry, 1, kLookMs) > 0) return (void)interrupted_.request_stop();
    }
  });
}

base::Result<RunState> follow(Application& app, RunState state, const std::stop_token& interrupted,
                              OnInterrupt what, WhenUnread when_unread, Printed printed) {
  const sessions::Services services = app.services();
  sessions::FollowOptions options{.gone = interrupted, .piece_bytes = kPrintedBytes};
  bool is_read[2] = {true, true};
  options.printed = [&](const char* stream, const std::string& bytes) {
    const bool is_error = std::string_view(stream) == "stderr";
    if (!is_read[is_error]) return true;
    is_read[is_error] = print(is_error ? STDERR_FILENO : STDOUT_FILENO, bytes, printed).ok();
    if (is_read[is_error] || is_error) return true;
    // A reader that went away, as `head` does, ends the printing.
    std::cout.setstate(std::ios::badbit);  // main() tells of it
    return when_unread == WhenUnread::kGoOn;
  };
  const std::string id = state.run.run_id;
  auto followed = TRY(sessions::follow(services.runs, services.run_files, app.principal_id(),
                                       std::move(state), options));
  if (followed.end == sessions::Followed::End::kEnded) {
    for (std::ostream* stream : {&std::cout, &std::cerr}) end_of_sandbox(*stream);
  } else if (what == OnInterrupt::kCancel) {
    return services.runs.cancel(app.principal_id(), id);
  }
  return std::move(followed.state);
}

}  // namespace tools::cli
