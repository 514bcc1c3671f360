// hutch run: one run from the shell. Output goes where it belongs as it comes; the exit status is
// that of the code.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdint>
#include <iostream>
#include <thread>

#include <nlohmann/json.hpp>

#include "sandbox/limits.h"
#include "tools/cli/commands.h"

namespace tools::cli {

using base::Error;
using sessions::RunState;

namespace {

constexpr std::size_t kChunkBytes = 1 << 20;
constexpr int kTimedOutStatus = 124;

sandbox::Language language_of_name(const std::string& file) {
  const auto ends = [&file](const char* extension) { return file.ends_with(extension); };
  if (ends(".js") || ends(".mjs")) return sandbox::Language::kJavaScript;
  if (ends(".ts")) return sandbox::Language::kTypeScript;
  if (ends(".sql")) return sandbox::Language::kSql;
  if (ends(".sh") || ends(".bash")) return sandbox::Language::kBash;
  return sandbox::Language::kPython;
}

base::Result<std::string> read_code(const std::string& file) {
  if (file == "-") return base::read_all(STDIN_FILENO, sandbox::kCodeBytesMax);
  const base::UniqueFd code = TRY(base::open_file(AT_FDCWD, file, O_RDONLY));
  return base::read_all(code.get(), sandbox::kCodeBytesMax);
}

// Prints one stream from `offset` on; returns the new offset.
std::int64_t print_stream(sessions::Manager& sessions, const RunState& state, const char* name,
                          std::int64_t offset, int fd) {
  while (offset != INT64_MAX) {
    const auto bytes =
        sessions.read_run_file(state.session_id, state.run.run_id, name, offset, kChunkBytes);
    if (!bytes.ok() || bytes.value().empty()) return offset;
    // A reader that went away, as `head` does, ends the printing but not the run.
    if (!base::write_all(fd, bytes.value()).ok()) return INT64_MAX;
    offset += static_cast<std::int64_t>(bytes.value().size());
  }
  return offset;
}

// Requests stop when SIGINT or SIGTERM comes; both are blocked in every thread by main().
class Interruptible {
 public:
  Interruptible() {
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    signals_ = base::UniqueFd(::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
    watcher_ = std::jthread([this](const std::stop_token& over) {
      while (!over.stop_requested()) {
        pollfd entry{signals_.get(), POLLIN, 0};
        if (::poll(&entry, 1, kLookMs) > 0) return (void)interrupted_.request_stop();
      }
    });
  }
  [[nodiscard]] std::stop_token token() const { return interrupted_.get_token(); }
  [[nodiscard]] bool came() const { return interrupted_.stop_requested(); }

 private:
  static constexpr int kLookMs = 100;
  base::UniqueFd signals_;
  std::stop_source interrupted_;
  std::jthread watcher_;
};

base::Result<RunState> follow(Application& app, RunState state,
                              const Interruptible& interruptible) {
  sandbox::WaitOptions options;
  options.until_output = true;
  options.timeout = std::chrono::seconds(30);
  while (true) {
    auto waited = app.sessions().wait_run(app.principal_id(), state.run.run_id, options,
                                          interruptible.token());
    if (interruptible.came()) {
      return app.sessions().cancel_run(app.principal_id(), state.run.run_id);
    }
    if (!waited.ok()) return std::move(waited).error();
    state = std::move(waited).value();
    options.stdout_offset =
        print_stream(app.sessions(), state, "stdout", options.stdout_offset, STDOUT_FILENO);
    options.stderr_offset =
        print_stream(app.sessions(), state, "stderr", options.stderr_offset, STDERR_FILENO);
    if (is_terminal(state.run.status)) return state;
  }
}

int report(const RunState& state) {
  for (const auto& output : state.run.outputs) {
    if (output.contains("text")) std::cout << output["text"].get<std::string>() << "\n";
    if (output.contains("image_path")) {
      std::cerr << "hutch: a picture; keep it with --session NAME and read_file, or share it\n";
    }
  }
  std::cout.flush();
  if (state.run.status == sandbox::RunStatus::kCompleted) return 0;
  if (state.run.error && state.run.error->cause != sandbox::Cause::kException &&
      state.run.error->cause != sandbox::Cause::kExit) {
    std::cerr << "hutch: " << name_of(state.run.status) << " (" << name_of(state.run.error->cause)
              << "): " << state.run.error->message << "\n";
  }
  // Whatever ended the code when its time was over: timeout(1) answers the same.
  if (state.run.status == sandbox::RunStatus::kTimedOut) return kTimedOutStatus;
  return state.run.exit_code.value_or(1);
}

}  // namespace

base::Result<int> run_code_once(Application& app, const RunOptions& options) {
  sandbox::RunRequest request;
  request.code = TRY(read_code(options.file));
  request.language = language_of_name(options.file);
  if (!options.language.empty()) {
    const auto language = sandbox::find_language(options.language);
    if (!language) {
      return base::error(Error::Kind::kInvalid,
                         "language must be python, javascript, typescript, sql or bash");
    }
    request.language = *language;
  }
  sessions::Session session;
  if (options.session.empty()) {
    session = TRY(app.sessions().create(app.principal_id(), {})).session;
  } else {
    session = TRY(app.sessions().find_or_create_named(app.principal_id(), options.session));
  }
  request.timeout_seconds = options.timeout_seconds > 0 ? options.timeout_seconds
                                                        : app.settings().default_limits.run_seconds;
  const Interruptible interruptible;
  const auto finished = [&]() -> base::Result<RunState> {
    RunState started = TRY(app.sessions().start_run(session, std::move(request)));
    return follow(app, std::move(started), interruptible);
  }();
  if (options.session.empty()) TRY(app.sessions().destroy(app.principal_id(), session.id));
  if (!finished.ok()) return finished.error();
  return interruptible.came() ? 130 : report(finished.value());
}

}  // namespace tools::cli
