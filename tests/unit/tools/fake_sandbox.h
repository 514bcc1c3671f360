// A sandbox in which every run completes at once, but for kEndless, over plain directories.
#pragma once

#include <fcntl.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sandbox/sandbox.h"

namespace sandbox::fake {

inline constexpr const char* kEndless = "while True: pass";

// Calls of a box ask these first, without a lock; what fails here is their answer. Null: nothing.
struct BoxHooks {
  std::function<base::Status(const RunRequest& request)> submit = {};
  std::function<base::Status(const std::string& run_id)> wait = {};
  std::function<base::Status(const std::string& run_id)> cancel = {};
  // May change what is told of the run.
  std::function<void(const WaitOptions& options, Run& told)> tell_run = {};
  std::function<base::Status(BoxStatus& told)> status = {};  // may change it
  std::function<base::Status()> shutdown = {};
  // Every call but those of runs, by its name; of the sandbox: find, start, sweep and let_go.
  std::function<base::Status(const std::string& session_id, const std::string& call)> any = {};
  std::function<void(const std::string& session_id, BoxStatus& told)> tell = {};
};

class FakeBox final : public Box {
 public:
  explicit FakeBox(const BoxSpec& spec, BoxHooks hooks = {})
      : session_id_(spec.session_id),
        directory_(spec.session_directory),
        folders_(spec.host_folders),
        hooks_(std::move(hooks)) {}

  base::Status submit(const RunRequest& request) override {
    if (hooks_.submit) TRY(hooks_.submit(request));
    const std::lock_guard lock(mutex_);
    Run& run = runs_[request.run_id];
    run.run_id = request.run_id;
    run.language = request.language;
    run.status = request.code == kEndless ? RunStatus::kRunning : RunStatus::kCompleted;
    run.started_at_ms = 1;
    run.finished_at_ms = is_terminal(run.status) ? 1 : 0;
    return base::done();
  }
  base::Result<Run> wait(const std::string& run_id, const WaitOptions& options,
                         std::stop_token) override {
    if (hooks_.wait) TRY(hooks_.wait(run_id));
    std::unique_lock lock(mutex_);
    const auto found = runs_.find(run_id);
    if (found == runs_.end()) return base::error(base::Error::Kind::kNotFound, "no such run");
    Run run = found->second;
    lock.unlock();
    if (hooks_.tell_run) hooks_.tell_run(options, run);
    if (!is_terminal(run.status)) std::this_thread::sleep_for(options.timeout);
    return run;
  }
  base::Status cancel(const std::string& run_id) override {
    return hooks_.cancel ? hooks_.cancel(run_id) : base::done();
  }
  base::Result<RunInput> input_of(const std::string&) override {
    return base::error(base::Error::Kind::kNotFound, "no run of this box reads");
  }
  base::Status end_input(const std::string&) override { return base::done(); }
  base::Status end_context(const std::string&) override { return ask("end_context"); }
  base::Result<BoxStatus> status() override {
    BoxStatus status;
    status.isolation.host_folders = folders_;
    TRY(ask("status"));
    if (hooks_.tell) hooks_.tell(session_id_, status);
    if (hooks_.status) TRY(hooks_.status(status));
    return status;
  }
  base::Status pause() override { return ask("pause"); }
  base::Status resume() override { return ask("resume"); }
  base::Status keep_awake() override { return ask("keep_awake"); }
  base::Status taken() override { return ask("taken"); }
  base::Status end_with_connection() override { return ask("end_with_connection"); }
  base::Status allow(const std::vector<NetworkRule>&, bool) override { return ask("allow"); }
  base::Status set_network(const BoxNetwork&) override { return ask("set_network"); }
  base::Result<base::UniqueFd> root() override {
    return base::open_file(AT_FDCWD, directory_, O_PATH | O_DIRECTORY);
  }
  base::Status take_disk_room(std::int64_t, RoomFor) override { return ask("take_disk_room"); }
  void disk_written(std::int64_t) override { (void)ask("disk_written"); }
  base::Result<base::UniqueFd> connect(std::uint16_t) override {
    return base::error(base::Error::Kind::kNotFound, "nothing listens here");
  }
  base::Status set_lifetime(std::int64_t, bool) override { return ask("set_lifetime"); }
  base::Status shutdown(const std::string&, std::chrono::milliseconds) override {
    TRY(ask("shutdown"));
    return hooks_.shutdown ? hooks_.shutdown() : base::done();
  }
  base::Status shutdown_revoked(const std::string&) override {
    TRY(ask("shutdown_revoked"));
    return hooks_.shutdown ? hooks_.shutdown() : base::done();
  }
  base::Status shutdown_for_good() override { return ask("shutdown_for_good"); }
  base::Status shutdown_if_idle(const std::string&) override { return ask("shutdown_if_idle"); }
  bool ends_with_service() override { return ask("ends_with_service").ok(); }

 private:
  base::Status ask(const char* call) {
    return hooks_.any ? hooks_.any(session_id_, call) : base::done();
  }

  const std::string session_id_;
  const std::string directory_;
  const std::vector<HostFolder> folders_;
  const BoxHooks hooks_;
  std::mutex mutex_;
  std::map<std::string, Run> runs_;
};

class FakeSandbox final : public Sandbox {
 public:
  base::Result<std::shared_ptr<Box>> find(const std::string& session_id) override {
    TRY(ask(session_id, "find"));
    const std::lock_guard lock(mutex_);
    const auto found = boxes_.find(session_id);
    if (found == boxes_.end()) return base::error(base::Error::Kind::kNotFound, "no box");
    return std::shared_ptr<Box>(found->second);
  }
  base::Result<std::shared_ptr<Box>> look_at(const std::string& session_id) override {
    if (on_look_) on_look_(session_id);
    return find(session_id);
  }
  base::Result<BoxStatus> glance_at(const std::string& session_id,
                                    std::chrono::milliseconds) override {
    const auto box = find(session_id);
    if (!box.ok()) return box.error();
    return box.value()->status();
  }
  void wait_until_warm(const std::string&, const std::stop_token&) override {}
  base::Result<std::shared_ptr<Box>> start(const BoxSpec& spec, const SessionLock&) override {
    TRY(ask(spec.session_id, "start"));
    const std::lock_guard lock(mutex_);
    if (start_failure_) return *start_failure_;
    auto& box = boxes_[spec.session_id];
    box = std::make_shared<FakeBox>(spec, hooks_);
    started_.push_back(spec);
    return std::shared_ptr<Box>(box);
  }
  void tell_ends(std::function<void(const std::string&)>) override {}
  void rest() override {}
  void let_go(const std::string& session_id) override {
    (void)ask(session_id, "let_go");
    const std::lock_guard lock(mutex_);
    boxes_.erase(session_id);
  }
  void sweep(const std::string& session_id, const std::string&, const SessionLock&) override {
    (void)ask(session_id, "sweep");
  }
  bool is_alive(const std::string& session_directory) override {
    const std::lock_guard lock(mutex_);
    return alive_.contains(session_directory.substr(session_directory.rfind('/') + 1));
  }

  // Whether its box holds the session's lock: none does unless it is said so.
  void set_alive(const std::string& session_id, bool alive) {
    const std::lock_guard lock(mutex_);
    if (alive) {
      alive_.insert(session_id);
    } else {
      alive_.erase(session_id);
    }
  }

  // Before somebody looks at it. Set before there is anybody.
  void on_look(std::function<void(const std::string& session_id)> called) {
    on_look_ = std::move(called);
  }
  // Every start, until it is taken back.
  void fail_starts_with(std::optional<base::Error> failure) {
    const std::lock_guard lock(mutex_);
    start_failure_ = std::move(failure);
  }
  // Hooks boxes that start from now on.
  void hook_boxes(BoxHooks hooks) {
    const std::lock_guard lock(mutex_);
    hooks_ = std::move(hooks);
  }
  std::vector<BoxSpec> started() {
    const std::lock_guard lock(mutex_);
    return started_;
  }

 private:
  base::Status ask(const std::string& session_id, const char* call) {
    std::unique_lock lock(mutex_);
    const auto any = hooks_.any;
    lock.unlock();
    return any ? any(session_id, call) : base::done();
  }

  std::function<void(const std::string&)> on_look_;
  std::optional<base::Error> start_failure_;
  BoxHooks hooks_;
  std::vector<BoxSpec> started_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<FakeBox>> boxes_;
  std::set<std::string> alive_;
};

}  // namespace sandbox::fake
