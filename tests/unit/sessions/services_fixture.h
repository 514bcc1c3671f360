// The services that sessions live by, put together over a fake sandbox as a Manager does it, but
// without threads of their own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/session_lock.h"
#include "sessions/service_parts.h"
#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"
#include "tests/unit/tools/fake_sandbox.h"

namespace sessions::testing {

class ServicesFixture : public StoreFixture {
 protected:
  using Answer = std::function<base::Status(const std::string& id, const std::string& call)>;

  ServicesFixture() {
    std::filesystem::create_directory(directory_ + "/sessions");
    config_.state_directory = directory_;
    config_.most_limits = sandbox::widest_limits();
    config_.notify = [this](const Notice& notice) {
      const std::lock_guard lock(mutex_);
      notices_.push_back(notice);
    };
    sandbox::fake::BoxHooks hooks;
    hooks.any = [this](const std::string& id, const std::string& call) {
      std::unique_lock lock(mutex_);
      calls_.emplace_back(id, call);
      const Answer answer = answer_;
      lock.unlock();
      return answer ? answer(id, call) : base::done();
    };
    hooks.tell = [this](const std::string& id, sandbox::BoxStatus& told) {
      const std::lock_guard lock(mutex_);
      const auto said = said_.find(id);
      if (said == said_.end()) return;
      const sandbox::Isolation isolation = std::exchange(told, said->second).isolation;
      told.isolation = isolation;
    };
    sandbox_.hook_boxes(std::move(hooks));
  }

  // They are made with config_ as it is at the first call.
  ServiceParts& parts() {
    if (!parts_) {
      parts_ = std::make_unique<ServiceParts>(config_, *store_, sandbox_);
      EXPECT_TRUE(parts_->ground.servers.open().ok());
    }
    return *parts_;
  }

  // Makes one that is stopped, as `change` leaves it, with empty directories.
  Session kept(const std::function<void(Session&)>& change = {}) {
    Session wanted = parts().ground.new_session(principal_, config_.default_limits);
    wanted.status = SessionStatus::kStopped;
    if (change) change(wanted);
    for (const char* part : {"/workspace", "/home", "/runs"}) {
      std::filesystem::create_directories(directory_of(wanted) + part);
    }
    return store_->sessions.create(wanted, std::nullopt, 1'000'000).value();
  }
  // Makes one as kept() does, with a box.
  Session running(const std::function<void(Session&)>& change = {}) {
    const Session session = kept(change);
    EXPECT_TRUE(parts().boxes.box_of(session).ok());
    sandbox_.set_alive(session.id, true);
    return row_of(session);
  }
  SessionStatus status_of(const Session& session) { return row_of(session).status; }
  [[nodiscard]] std::string directory_of(const Session& session) const {
    return directory_ + "/sessions/" + session.id;
  }
  [[nodiscard]] sandbox::SessionLock held(const Session& session) const {
    return sandbox::SessionLock::take(directory_of(session)).value();
  }

  // Answers calls of the sandbox and of its boxes, by their names as BoxHooks has them.
  void answer_with(Answer answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }
  void fail_call(const std::string& name, base::Error::Kind kind) {
    answer_with([=](const std::string&, const std::string& call) {
      return call == name ? base::Status(base::error(kind, "it is " + name)) : base::done();
    });
  }
  void say(const Session& session, const sandbox::BoxStatus& status) {
    const std::lock_guard lock(mutex_);
    said_[session.id] = status;
  }
  // Says that a run is in progress.
  void say_busy(const Session& session) {
    sandbox::BoxStatus status;
    status.active.emplace_back().run_id = "run_1";
    say(session, status);
  }
  // Returns how often a call of that name was made; of one session, where it is given.
  std::ptrdiff_t calls(const std::string& name, const std::string& id = "") {
    const std::lock_guard lock(mutex_);
    return std::count_if(calls_.begin(), calls_.end(), [&](const auto& call) {
      return call.second == name && (id.empty() || call.first == id);
    });
  }
  std::vector<Notice> notices() {
    const std::lock_guard lock(mutex_);
    return notices_;
  }

  ManagerConfig config_;
  sandbox::fake::FakeSandbox sandbox_;

 private:
  std::mutex mutex_;
  Answer answer_;
  std::vector<std::pair<std::string, std::string>> calls_;
  std::map<std::string, sandbox::BoxStatus> said_;
  std::vector<Notice> notices_;
  std::unique_ptr<ServiceParts> parts_;
};

}  // namespace sessions::testing
