// hutch shell: a terminal in a session.
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <stop_token>
#include <thread>

#include "sessions/run_state.h"
#include "sessions/runs.h"
#include "sessions/sessions.h"
#include "tools/program_run.h"
#include "tools/cli/commands.h"
#include "tools/cli/follow_run.h"
#include "tools/cli/terminal.h"

namespace tools::cli {

using base::Error;
using sessions::RunState;

namespace {

constexpr const char* kPrompt = R"(\[\e[1;32m\]hutch\[\e[0m\]:\w\$ )";

// This terminal gives every key as it is, until this goes.
class RawTerminal {
 public:
  RawTerminal() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    is_raw_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
  }
  ~RawTerminal() {
    if (is_raw_) (void)::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  termios before_{};
  bool is_raw_ = false;
};

sandbox::TerminalSize size_of_this() {
  winsize size{};
  sandbox::TerminalSize terminal;
  if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    return terminal;
  }
  return {size.ws_row, size.ws_col};
}

// Blocked in every thread before there was another.
base::Result<base::UniqueFd> signals_of_terminal() {
  sigset_t all;
  sigemptyset(&all);
  for (const int number : kShellSignals) sigaddset(&all, number);
  base::UniqueFd signals(::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) return Error::from_errno("signalfd");
  return signals;
}

sandbox::RunRequest request_of(const ShellOptions& options, bool in_terminal) {
  sandbox::RunRequest run;
  run.language = sandbox::Language::kBash;
  run.background = true;
  run.input = in_terminal ? sandbox::Input::kTerminal : sandbox::Input::kPipe;
  run.terminal = size_of_this();
  run.code = options.words.empty() ? "exec /bin/bash" : options.code;
  if (!in_terminal) return run;
  if (options.words.empty()) run.code += " -i";
  for (const char* name : {"TERM", "COLORTERM"}) {
    if (const char* value = ::getenv(name)) run.env[name] = value;  // NOLINT: one thread
  }
  run.env["PS1"] = kPrompt;
  return run;
}

// It did not end by itself, and nothing on the screen says why.
bool is_of_the_session(sandbox::Cause cause) {
  using sandbox::Cause;
  return cause == Cause::kOom || cause == Cause::kPids || cause == Cause::kDisk ||
         cause == Cause::kOutput || cause == Cause::kTimeout || cause == Cause::kSandboxLost;
}

// Keys, or what is piped in, on their way; until the run has ended, or somebody wants it to.
class Keyboard {
 public:
  Keyboard(Application& app, std::string run_id, sandbox::RunInput input, base::UniqueFd signals,
           int over_fd)
      : app_(app),
        run_id_(std::move(run_id)),
        input_(std::move(input)),
        signals_(std::move(signals)),
        over_fd_(over_fd) {}

  // False: somebody wants it to end.
  bool serve() {
    while (true) {
      std::array<pollfd, 4> entries{
          pollfd{waiting_.empty() && !ended_ ? STDIN_FILENO : -1, POLLIN, 0},
          pollfd{waiting_.empty() ? -1 : input_.fd.get(), POLLOUT, 0},
          pollfd{signals_.get(), POLLIN, 0}, pollfd{over_fd_, POLLIN, 0}};
      if (::poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR) return false;
      if (entries[3].revents != 0) return true;
      if (entries[2].revents != 0 && !take_signal()) return false;
      if (entries[0].revents != 0) take_keys();
      if (entries[1].revents != 0) pass_on();
    }
  }

 private:
  bool take_signal() {
    signalfd_siginfo signal{};
    if (::read(signals_.get(), &signal, sizeof signal) != sizeof signal) return true;
    if (signal.ssi_signo != SIGWINCH) return false;
    if (input_.is_terminal) (void)sandbox::set_terminal_size(input_.fd.get(), size_of_this());
    return true;
  }

  void take_keys() {
    std::array<char, 65536> buffer;
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got > 0) waiting_.assign(buffer.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) end();
  }

  // Passes on what waits. While the program does not read it, the keys behind it wait in the
  // terminal.
  void pass_on() {
    const ssize_t written = ::write(input_.fd.get(), waiting_.data(), waiting_.size());
    if (written > 0) waiting_.erase(0, static_cast<std::size_t>(written));
    if (written < 0 && errno != EINTR && errno != EAGAIN) end();  // nobody will read it any more
  }

  void end() {
    ended_ = true;
    waiting_.clear();
    input_.fd.reset();
    (void)app_.services().runs.end_input(app_.principal_id(), run_id_);
  }

  Application& app_;
  const std::string run_id_;
  sandbox::RunInput input_;
  const base::UniqueFd signals_;
  const int over_fd_;
  std::string waiting_;
  bool ended_ = false;
};

}  // namespace

base::Result<int> run_shell(Application& app, ShellOptions options) {
  if (!options.words.empty()) options.code = TRY(command_line(options.words, ""));
  const bool in_terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  sandbox::RunRequest request = request_of(options, in_terminal);
  request.trace.mark(sandbox::Hop::kCalled);
  const auto session =
      TRY(app.services().sessions.find_or_create_named(app.principal_id(), options.session));
  base::UniqueFd signals = TRY(signals_of_terminal());
  const base::UniqueFd over(::eventfd(0, EFD_CLOEXEC));
  if (!over.valid()) return Error::from_errno("eventfd");
  RunState state = TRY(app.services().runs.start(session, std::move(request)));
  auto input = app.services().runs.input_of(app.principal_id(), state.run.run_id);
  const std::optional<Error> no_input =
      input.ok() ? std::nullopt : std::optional<Error>(input.error());
  const bool is_refused = no_input && no_input->kind != Error::Kind::kNotFound;
  std::stop_source stop;
  base::Result<RunState> ended = state;
  {
    const std::optional<RawTerminal> raw = [&] {
      return in_terminal ? std::optional<RawTerminal>(std::in_place) : std::nullopt;
    }();
    std::jthread output([&] {
      ended = follow(app, state, stop.get_token(), OnInterrupt::kCancel, WhenUnread::kInterrupt,
                     in_terminal ? Printed::kByTerminal : Printed::kByCode);
      const std::uint64_t one = 1;
      (void)!::write(over.get(), &one, sizeof one);
    });
    if (no_input) {
      // One that has ended at once reads nothing.
      if (is_refused) (void)stop.request_stop();
    } else {
      Keyboard keyboard(app, state.run.run_id, std::move(input).value(), std::move(signals),
                        over.get());
      if (!keyboard.serve()) (void)stop.request_stop();
    }
    output.join();
  }
  if (is_refused) return *no_input;
  const RunState last = TRY(std::move(ended));
  if (last.run.error && (!last.run.exit_code || is_of_the_session(last.run.error->cause))) {
    tell(last.run.error->message);
  }
  return last.run.exit_code.value_or(1);
}

}  // namespace tools::cli
