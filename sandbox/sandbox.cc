#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "sandbox/base/process.h"
#include "sandbox/box_connection.h"
#include "sandbox/cgroup.h"
#include "sandbox/disk_quota.h"
#include "sandbox/wire/json.h"
#include "sandbox/zygote.h"

namespace sandbox {

using base::Error;
using nlohmann::json;
using std::chrono::milliseconds;

namespace {

// A box does nothing that takes this long: one that has not answered by then is ended. Clients give
// up after 60 seconds, and hear of it before.
constexpr milliseconds kPatience{30'000};
constexpr milliseconds kWaitSlice{5000};
constexpr milliseconds kStartPatience{20'000};
constexpr milliseconds kEndPatience{2000};
constexpr int kFindPauseMs = 10;
constexpr milliseconds kWarmPatience{10'000};
constexpr milliseconds kWarmAgainPatience{1000};
constexpr int kWarmPauseMs = 50;
constexpr std::size_t kPooledMax = 16;
constexpr std::size_t kReadyBytesMax = 64 * 1024;

base::Result<BoxStatus> status_in(const json& reply, const BoxConnection& connection) {
  BoxStatus status;
  status.paused = wire::boolean_or(reply, "paused", false);
  status.isolation = reply.value("isolation", json::object());
  status.memory_bytes = wire::integer_or(reply, "memory_bytes", 0);
  const json active = reply.value("active", json::array());
  for (const json& entry : active) {
    auto run = run_from_json(entry);
    if (!run.ok()) return connection.end_box(run.error().message);
    status.active.push_back(std::move(run).value());
  }
  return status;
}

// Keeps idle connections, at least one while the box lives: the box stays for as long as a server
// is connected.
class ConnectedBox : public Box {
 public:
  using Attach = BoxConnection::Attach;
  ConnectedBox(std::string session_directory, std::int64_t detach_seconds, Attach attach)
      : session_directory_(std::move(session_directory)),
        detach_seconds_(detach_seconds),
        attach_(attach) {}

  base::Status connect() {
    BoxConnection connection = TRY(take());
    give_back(std::move(connection));
    return base::done();
  }

  [[nodiscard]] bool usable() {
    const std::lock_guard lock(mutex_);
    return !idle_.empty() && idle_.back().usable();
  }

  base::Status submit(const RunRequest& request) override {
    TRY(call({{"op", "submit"}, {"request", request_to_json(request)}}));
    return base::done();
  }

  // In slices: a box that has fallen silent is noticed long before the wait is over.
  base::Result<Run> wait(const std::string& run_id, const WaitOptions& options,
                         std::stop_token stop) override {
    const auto deadline = std::chrono::steady_clock::now() + options.timeout;
    while (true) {
      const auto left =
          std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
      WaitOptions slice = options;
      slice.timeout = std::clamp(left, milliseconds(0), kWaitSlice);
      Run run = TRY(wait_slice(run_id, slice, stop));
      const bool output = options.until_output && (run.stdout_bytes > options.stdout_offset ||
                                                   run.stderr_bytes > options.stderr_offset);
      if (is_terminal(run.status) || output || left <= kWaitSlice) return run;
    }
  }

  base::Status cancel(const std::string& run_id) override {
    TRY(call({{"op", "cancel"}, {"run_id", run_id}}));
    return base::done();
  }

  base::Result<BoxStatus> status() override {
    BoxConnection connection = TRY(take());
    const auto answer = connection.call({{"op", "status"}}, kPatience);
    if (!answer.ok()) return failed(std::move(connection), answer.error(), {});
    BoxStatus status = TRY(status_in(answer.value(), connection));
    give_back(std::move(connection));
    return status;
  }

  base::Status pause() override {
    TRY(call({{"op", "pause"}}));
    return base::done();
  }

  base::Status resume() override {
    TRY(call({{"op", "resume"}}));
    return base::done();
  }

  base::Result<base::UniqueFd> root() override {
    BoxConnection connection = TRY(take());
    TRY(connection.call({{"op", "root"}}, kPatience));
    base::UniqueFd fd = TRY(connection.receive_fd(kPatience));
    give_back(std::move(connection));
    return fd;
  }

  base::Status shutdown() override {
    BoxConnection connection = TRY(take());
    TRY(connection.call({{"op", "shutdown"}}, kPatience));
    if (connection.wait_for_end(kPatience)) return base::done();
    return base::error(Error::Kind::kUnavailable, "the sandbox does not end");
  }

 private:
  base::Result<json> call(const json& request, milliseconds patience = kPatience,
                          const std::stop_token& stop = {}) {
    BoxConnection connection = TRY(take());
    auto reply = connection.call(request, patience, stop);
    if (!reply.ok()) return failed(std::move(connection), reply.error(), stop);
    give_back(std::move(connection));
    return reply;
  }

  base::Error failed(BoxConnection connection, Error failure, const std::stop_token& stop) {
    if (failure.kind != Error::Kind::kUnavailable) {
      give_back(std::move(connection));
    } else if (!stop.stop_requested()) {
      // An answer may still come, to a question nobody asks any more. The other connections lead to
      // the same box: without them the next call says hello first, which tells how it is.
      const std::lock_guard lock(mutex_);
      idle_.clear();
    }
    return failure;
  }

  base::Result<Run> wait_slice(const std::string& run_id, const WaitOptions& options,
                               const std::stop_token& stop) {
    BoxConnection connection = TRY(take());
    const auto reply = connection.call({{"op", "wait"},
                                        {"run_id", run_id},
                                        {"until", options.until_output ? "output" : "end"},
                                        {"stdout_offset", options.stdout_offset},
                                        {"stderr_offset", options.stderr_offset},
                                        {"timeout_ms", options.timeout.count()}},
                                       options.timeout + kPatience, stop);
    if (!reply.ok()) return failed(std::move(connection), reply.error(), stop);
    auto run = run_from_json(reply.value().value("run", json()));
    if (!run.ok()) return connection.end_box(run.error().message);
    if (run.value().run_id != run_id) return connection.end_box("it answered with another run");
    give_back(std::move(connection));
    return run;
  }

  base::Result<BoxConnection> take() {
    {
      const std::lock_guard lock(mutex_);
      while (!idle_.empty()) {
        BoxConnection connection = std::move(idle_.back());
        idle_.pop_back();
        if (connection.usable()) return connection;
      }
    }
    return BoxConnection::open(session_directory_, detach_seconds_, attach_);
  }

  void give_back(BoxConnection connection) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kPooledMax) idle_.push_back(std::move(connection));
  }

  const std::string session_directory_;
  const std::int64_t detach_seconds_;
  const Attach attach_;
  std::mutex mutex_;
  std::vector<BoxConnection> idle_;
};

class LinuxSandbox : public Sandbox {
 public:
  explicit LinuxSandbox(SandboxConfig config) : config_(std::move(config)), zygote_(config_) {
    zygote_.ensure();  // early: it takes a second to be of use
  }

  base::Result<std::shared_ptr<Box>> find(const std::string& session_id) override {
    std::shared_ptr<ConnectedBox> known;
    {
      const std::lock_guard lock(mutex_);
      if (const auto entry = boxes_.find(session_id); entry != boxes_.end()) known = entry->second;
    }
    // Connecting may take its time; the other sessions do not wait for it.
    if (known && (known->usable() || known->connect().ok())) return as_box(known);
    auto box = std::make_shared<ConnectedBox>(directory_of(session_id), config_.detach_seconds,
                                              ConnectedBox::Attach::kYes);
    const auto connected = box->connect();
    const std::lock_guard lock(mutex_);
    if (!connected.ok()) {
      boxes_.erase(session_id);
      return connected.error();
    }
    boxes_[session_id] = box;
    return as_box(box);
  }

  base::Result<std::shared_ptr<Box>> look_at(const std::string& session_id) override {
    auto box = std::make_shared<ConnectedBox>(directory_of(session_id), config_.detach_seconds,
                                              ConnectedBox::Attach::kNo);
    TRY(box->connect());
    return as_box(box);
  }

  base::Result<BoxStatus> glance_at(const std::string& session_id, milliseconds patience) override {
    auto connection = TRY(BoxConnection::open(directory_of(session_id), config_.detach_seconds,
                                              BoxConnection::Attach::kNo, patience,
                                              BoxConnection::Silent::kLeave));
    return status_in(TRY(connection.call({{"op", "status"}}, patience)), connection);
  }

  void wait_until_warm(const std::stop_token& stop) override {
    if (config_.zygote == SandboxConfig::Zygote::kOff) return;
    zygote_.ensure();
    const auto patience = waited_.exchange(true) ? kWarmAgainPatience : kWarmPatience;
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!stop.stop_requested() && std::chrono::steady_clock::now() < deadline &&
           !wait_for_zygote(config_.zygote_directory, std::chrono::seconds(0)).ok()) {
      (void)::poll(nullptr, 0, kWarmPauseMs);
    }
  }

  base::Result<std::shared_ptr<Box>> start(const BoxSpec& wanted) override {
    BoxSpec spec = wanted;
    spec.program_directory = config_.program_directory;
    spec.data_directory = config_.data_directory;
    spec.detach_seconds = config_.detach_seconds;
    if (config_.zygote != SandboxConfig::Zygote::kOff) {
      spec.zygote_directory = config_.zygote_directory;
    }
    zygote_.ensure();
    const auto deadline = std::chrono::steady_clock::now() + kStartPatience;
    while (true) {
      auto launched = launch(spec);
      // Another server holds the session's lock: its box will answer, or it was only sweeping.
      const bool taken = !launched.ok() && launched.error().kind == Error::Kind::kConflict;
      if (!launched.ok() && !taken) return std::move(launched).error();
      auto box = find_soon(spec);
      if (box.ok() || !taken || std::chrono::steady_clock::now() >= deadline) return box;
    }
  }

  void sweep(const std::string& session_id, const std::string& session_directory) override {
    // Held meanwhile, so that no box starts between the look and the removal.
    const base::UniqueFd lock_file(::open((session_directory + "/box.lock").c_str(),
                                          O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (lock_file.valid() && ::flock(lock_file.get(), LOCK_EX | LOCK_NB) != 0) return;
    const std::string socket = session_directory + "/" + wire::kBoxSocket;
    (void)::unlink(socket.c_str());
    sweep_cgroup(session_id);
    release_disk_quota(session_directory);
    const std::lock_guard lock(mutex_);
    boxes_.erase(session_id);
  }

  bool is_alive(const std::string& session_directory) override {
    const base::UniqueFd lock(
        ::open((session_directory + "/box.lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!lock.valid()) return false;
    return ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
  }

 private:
  [[nodiscard]] std::string directory_of(const std::string& session_id) const {
    return config_.sessions_directory + "/" + session_id;
  }

  static base::Result<std::shared_ptr<Box>> as_box(const std::shared_ptr<ConnectedBox>& box) {
    return std::shared_ptr<Box>(box);
  }

  // A box that another server has just started holds its lock some time before it answers.
  base::Result<std::shared_ptr<Box>> find_soon(const BoxSpec& spec) {
    const auto deadline = std::chrono::steady_clock::now() + kStartPatience;
    auto box = find(spec.session_id);
    while (!box.ok() && is_alive(spec.session_directory) &&
           std::chrono::steady_clock::now() < deadline) {
      (void)::poll(nullptr, 0, kFindPauseMs);
      box = find(spec.session_id);
    }
    return box;
  }

  base::Status launch(const BoxSpec& spec) {
    const base::UniqueFd null = TRY(base::open_file(AT_FDCWD, "/dev/null", O_RDWR));
    const base::UniqueFd log =
        TRY(base::open_file(AT_FDCWD, spec.session_directory + "/box.log",
                            O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600));
    const base::UniqueFd text =
        TRY(base::make_memory_file("hutch-box", wire::print_json(spec_to_json(spec))));
    base::Pipe ready = TRY(base::make_pipe());
    base::SpawnOptions options;
    options.arguments = {config_.program_directory + "/hutch-box"};
    options.descriptors = {null.get(), null.get(), log.get(), text.get(), ready.write_end.get()};
    options.own_session = true;
    const pid_t pid = TRY(base::spawn(options));
    const base::UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    ready.write_end.reset();
    auto line = read_ready_line(ready.read_end.get());
    // What does not say that it is ready is not left to become so.
    if ((!line.ok() || !line.value().ends_with('\n')) && process.valid()) {
      (void)::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
      (void)base::wait_for(process.get(), POLLIN, std::chrono::steady_clock::now() + kEndPatience);
    }
    if (!line.ok()) return std::move(line).error();
    if (!line.value().ends_with('\n')) {
      return base::error(Error::Kind::kInternal, "hutch-box died; see box.log");
    }
    const json reply = TRY(wire::parse_json(line.value()));
    return wire::check_reply(reply);
  }

  // Not to the end of the pipe: something may hold it open that hutch-box has started.
  static base::Result<std::string> read_ready_line(int fd) {
    const auto deadline = std::chrono::steady_clock::now() + kStartPatience;
    std::string line;
    while (!line.ends_with('\n')) {
      const short events = TRY(base::wait_for(fd, POLLIN, deadline));
      if (events == 0) return base::error(Error::Kind::kUnavailable, "the sandbox does not start");
      char buffer[4096];
      const ssize_t got = ::read(fd, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Error::from_errno("read what hutch-box says");
      if (got == 0) break;
      line.append(buffer, static_cast<std::size_t>(got));
      if (line.size() > kReadyBytesMax) {
        return base::error(Error::Kind::kInternal, "hutch-box says too much");
      }
    }
    return line;
  }

  const SandboxConfig config_;
  Zygote zygote_;
  std::atomic<bool> waited_ = false;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<ConnectedBox>> boxes_;
};

}  // namespace

std::unique_ptr<Sandbox> make_sandbox(SandboxConfig config) {
  return std::make_unique<LinuxSandbox>(std::move(config));
}

}  // namespace sandbox
