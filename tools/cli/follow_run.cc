#include "tools/cli/follow_run.h"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <iostream>

#include "sessions/run_files.h"
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

// Prints from `offset` on, and returns the new offset.
std::int64_t print_stream(const sessions::RunFiles& files, const RunState& state, const char* name,
                          std::int64_t offset, int fd, Printed printed) {
  while (offset != INT64_MAX) {
    const auto bytes =
        files.read_stream(state.session_id, state.run.run_id, name, offset, kPrintedBytes);
    if (!bytes.ok() || bytes.value().empty()) return offset;
    // A reader that went away, as `head` does, ends the printing.
    if (!print(fd, bytes.value(), printed).ok()) {
      if (fd == STDOUT_FILENO) std::cout.setstate(std::ios::badbit);  // main() tells of it
      return INT64_MAX;
    }
    offset += static_cast<std::int64_t>(bytes.value().size());
  }
  return offset;
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
  sandbox::WaitOptions options;
  options.until_output = true;
  options.timeout = std::chrono::seconds(30);
  while (true) {
    options.stdout_offset = print_stream(app.services().run_files, state, "stdout",
                                         options.stdout_offset, STDOUT_FILENO, printed);
    options.stderr_offset = print_stream(app.services().run_files, state, "stderr",
                                         options.stderr_offset, STDERR_FILENO, printed);
    if (is_terminal(state.run.status)) {
      for (std::ostream* stream : {&std::cout, &std::cerr}) end_of_sandbox(*stream);
      return state;
    }
    const bool is_over =
        when_unread == WhenUnread::kInterrupt && options.stdout_offset == INT64_MAX;
    auto waited = is_over ? base::Result<RunState>(state)
                          : app.services().runs.wait(app.principal_id(), state.run.run_id, options,
                                                     interrupted);
    if (is_over || interrupted.stop_requested()) {
      if (what == OnInterrupt::kLeave) return state;
      return app.services().runs.cancel(app.principal_id(), state.run.run_id);
    }
    if (!waited.ok()) return std::move(waited).error();
    state = std::move(waited).value();
  }
}

}  // namespace tools::cli
