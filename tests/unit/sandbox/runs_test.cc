// Runs of one box, with an init that starts nothing: queues, ends, and who hears of them.
#include "sandbox/box/runs.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sandbox/wire/frame.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/sandbox/fake_init.h"

namespace {

using base::Error;
using nlohmann::json;
using sandbox::Cause;
using sandbox::Language;
using sandbox::RunStatus;
using sandbox::box::EventLoop;
using sandbox::box::Runs;

class BoxRunsTest : public ::testing::Test {
 protected:
  BoxRunsTest() {
    std::filesystem::create_directory(data_.path() + "/profiles");
    data_.write("profiles/bash.json", R"({"program": ["/bin/sh"], "process": "per_run"})");
    data_.write("profiles/python.json", R"({"program": ["/bin/sh"], "process": "per_session"})");
    spec_.data_directory = data_.path();
    Runs::Context context{.loop = *loop_,
                          .init = init_.process(),
                          .spec = spec_,
                          .session_fd = session_.fd(),
                          .runs_fd = records_.fd(),
                          .workspace_fd = workspace_.fd(),
                          .home_fd = home_.fd()};
    context.oom_kills = [] { return 0; };
    context.pids_refused = [] { return 0; };
    context.memory_peak_bytes = [] { return 0; };
    context.disk_used_up = [] { return false; };
    context.changed = [this](const std::string& run_id) { ++changes_[run_id]; };
    context.begins = [](const sandbox::Run&, bool) {};
    runs_ = std::make_unique<Runs>(std::move(context));
  }

  base::Status submit(const std::string& run_id, Language language = Language::kPython,
                      bool background = false) {
    sandbox::RunRequest request;
    request.run_id = run_id;
    request.language = language;
    request.code = "code";
    request.background = background;
    return runs_->submit(std::move(request));
  }
  std::optional<Error::Kind> refusal(const std::string& run_id, bool background = false) {
    const base::Status status = submit(run_id, Language::kPython, background);
    return status.ok() ? std::nullopt : std::optional(status.error().kind);
  }
  RunStatus status_of(const std::string& run_id) {
    const sandbox::Run* const run = runs_->find(run_id);
    EXPECT_NE(run, nullptr) << run_id;
    return run == nullptr ? RunStatus::kQueued : run->status;
  }
  // The runner in the process says so.
  static void say(const FakeInit::Process& process, const json& message) {
    const std::string frame = sandbox::wire::encode_frame('J', message.dump());
    ASSERT_EQ(::write(process.descriptors.at(4).get(), frame.data(), frame.size()),
              static_cast<ssize_t>(frame.size()));
  }
  [[nodiscard]] bool turn_until_ended(const std::string& run_id) {
    return init_.turn_until([this, &run_id] { return is_terminal(status_of(run_id)); });
  }

  std::unique_ptr<EventLoop> loop_ = EventLoop::create().value();
  FakeInit init_{*loop_};
  const TemporaryDirectory data_;
  const TemporaryDirectory session_;
  const TemporaryDirectory records_;
  const TemporaryDirectory workspace_;
  const TemporaryDirectory home_;
  sandbox::BoxSpec spec_;
  std::map<std::string, int> changes_;
  std::unique_ptr<Runs> runs_;
};

TEST_F(BoxRunsTest, ARunEndsByTheWordOfItsInterpreterWhichStays) {
  ASSERT_TRUE(submit("one").ok());
  ASSERT_TRUE(submit("one").ok()) << "a server asked twice";
  EXPECT_EQ(status_of("one"), RunStatus::kRunning);
  const auto processes = init_.take_processes();
  ASSERT_EQ(processes.size(), 1U);
  say(processes[0], {{"type", "ready"}});
  say(processes[0], {{"type", "done"}, {"run_id", "another"}, {"ok", true}});
  say(processes[0], {{"type", "done"}, {"run_id", "one"}, {"ok", true}});
  ASSERT_TRUE(turn_until_ended("one"));
  EXPECT_EQ(status_of("one"), RunStatus::kCompleted);
  EXPECT_EQ(changes_["one"], 2) << "it has begun, and ended";
  EXPECT_FALSE(runs_->busy());
  EXPECT_EQ(runs_->interpreters(), 1U);
  const json record = base::parse_json(records_.read("one/record.json")).value();
  EXPECT_EQ(record["status"], "completed");
  ASSERT_TRUE(submit("two").ok());
  EXPECT_TRUE(init_.take_processes().empty()) << "it has the same interpreter";
  EXPECT_EQ(runs_->find("two")->execution_count, 2);
}

TEST_F(BoxRunsTest, RunsOfOneInterpreterComeInOrder) {
  ASSERT_TRUE(submit("one").ok());
  ASSERT_TRUE(submit("two").ok());
  ASSERT_TRUE(submit("three").ok());
  EXPECT_EQ(status_of("two"), RunStatus::kQueued);
  EXPECT_EQ(runs_->find("two")->waits_for, "one");
  ASSERT_TRUE(runs_->cancel("two").ok());
  EXPECT_EQ(status_of("two"), RunStatus::kCancelled);
  EXPECT_EQ(runs_->active().size(), 2U);
  say(init_.take_processes().at(0), {{"type", "done"}, {"run_id", "one"}, {"ok", true}});
  ASSERT_TRUE(turn_until_ended("one"));
  EXPECT_EQ(status_of("three"), RunStatus::kRunning);
  EXPECT_FALSE(runs_->cancel("none").ok());
}

TEST_F(BoxRunsTest, TheInterpretersEndIsTheRunsAndTheNextHearsOfOne) {
  ASSERT_TRUE(submit("one").ok());
  runs_->process_exited(FakeInit::kFirstPid, 3 << 8);
  EXPECT_EQ(status_of("one"), RunStatus::kFailed);
  EXPECT_EQ(runs_->find("one")->error->cause, Cause::kExit);
  EXPECT_EQ(runs_->interpreters(), 0U);
  ASSERT_TRUE(submit("two").ok());
  say(init_.take_processes().at(1), {{"type", "done"}, {"run_id", "two"}, {"ok", true}});
  ASSERT_TRUE(turn_until_ended("two"));
  EXPECT_EQ(runs_->find("two")->note, "");
  runs_->process_exited(FakeInit::kFirstPid + 1, SIGTERM);  // while it runs nothing
  ASSERT_TRUE(submit("three").ok());
  EXPECT_EQ(runs_->find("three")->note,
            "the interpreter of python was killed by signal 15 while it ran nothing: its variables "
            "are lost, files kept");
}

// It has nothing open any more, so that only the time tells what it was writing.
TEST_F(BoxRunsTest, WhatADyingRunWasWritingIsIncompleteThoughItIsToldToEndForItsMemory) {
  ASSERT_TRUE(submit("one").ok());
  workspace_.write("half.csv", "half");
  runs_->stop_all(Cause::kOom);
  runs_->process_exited(FakeInit::kFirstPid, SIGKILL);
  EXPECT_EQ(runs_->find("one")->error->cause, Cause::kOom);
  const auto& changes = runs_->find("one")->files_changed;
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].path, "/workspace/half.csv");
  EXPECT_TRUE(changes[0].possibly_incomplete);
}

TEST_F(BoxRunsTest, BehindARunOfBashTheShellOfTheNextStarts) {
  ASSERT_TRUE(submit("one", Language::kBash).ok());
  EXPECT_FALSE(init_.take_processes().at(0).has("--ahead"));
  EXPECT_EQ(runs_->interpreters(), 0U);
  runs_->process_exited(FakeInit::kFirstPid, 0);
  EXPECT_EQ(status_of("one"), RunStatus::kCompleted);
  runs_->end_was_told();
  ASSERT_TRUE(init_.turn_until([this] { return runs_->interpreters() == 1; }));
  const auto processes = init_.take_processes();
  ASSERT_EQ(processes.size(), 1U);
  EXPECT_TRUE(processes[0].has("--ahead"));
  ASSERT_TRUE(submit("two", Language::kBash).ok());
  EXPECT_TRUE(init_.take_processes().empty());
  EXPECT_EQ(base::read_all(processes[0].descriptors.at(3).get(), 100).value(), "code");
}

TEST_F(BoxRunsTest, AHeldOrEndingBoxTakesNoRuns) {
  ASSERT_TRUE(submit("one").ok());
  ASSERT_TRUE(submit("two").ok());
  runs_->hold();
  EXPECT_EQ(refusal("three"), Error::Kind::kConflict);
  say(init_.take_processes().at(0), {{"type", "done"}, {"run_id", "one"}, {"ok", true}});
  ASSERT_TRUE(turn_until_ended("one"));
  EXPECT_EQ(status_of("two"), RunStatus::kQueued);
  runs_->release();
  EXPECT_EQ(status_of("two"), RunStatus::kRunning);
  runs_->close();
  EXPECT_EQ(refusal("three"), Error::Kind::kUnavailable);
}

TEST_F(BoxRunsTest, QueuesAndRunsInTheBackgroundAreBounded) {
  for (int i = 0; i <= sandbox::kQueuedRunsMax; ++i) {
    EXPECT_EQ(refusal("q" + std::to_string(i)), std::nullopt);
  }
  EXPECT_EQ(refusal("q"), Error::Kind::kLimit);
  for (int i = 0; i < 5; ++i) {
    const auto one = submit("p" + std::to_string(i), Language::kPython, /*background=*/true);
    EXPECT_TRUE(one.ok());
  }
  const auto sixth = submit("p", Language::kPython, /*background=*/true);
  ASSERT_FALSE(sixth.ok()) << "each has an interpreter";
  EXPECT_EQ(sixth.error().os_errno, sandbox::kTooManyInBackground);
  for (int i = 5; i < sandbox::kBackgroundRunsMax; ++i) {
    const auto one = submit("b" + std::to_string(i), Language::kBash, /*background=*/true);
    EXPECT_TRUE(one.ok());
  }
  const auto one_more = submit("b", Language::kBash, /*background=*/true);
  ASSERT_FALSE(one_more.ok());
  EXPECT_EQ(one_more.error().kind, Error::Kind::kLimit);
  EXPECT_EQ(one_more.error().os_errno, sandbox::kTooManyInBackground);
  EXPECT_NE(one_more.error().message.find("cancel_run"), std::string::npos);
  EXPECT_LT(one_more.error().message.size(), 200U) << "it names a few of them";
}

TEST_F(BoxRunsTest, AllRunsEndWithTheBox) {
  ASSERT_TRUE(submit("one").ok());
  ASSERT_TRUE(submit("two").ok());
  ASSERT_TRUE(submit("three", Language::kBash, /*background=*/true).ok());
  runs_->stop_all(Cause::kTimeout);
  runs_->end_all(Cause::kSandboxLost, "init was killed");
  EXPECT_FALSE(runs_->busy());
  for (const char* run_id : {"one", "three"}) {
    EXPECT_EQ(runs_->find(run_id)->error->cause, Cause::kTimeout) << "it was being stopped";
  }
  EXPECT_EQ(runs_->find("two")->error->cause, Cause::kSandboxLost);
  EXPECT_EQ(runs_->find("two")->error->lost, "the sandbox ended: variables and processes lost");
}

TEST_F(BoxRunsTest, TheNextRunIsToldWhatItMissed) {
  runs_->tell_next("something was killed");
  runs_->network_used({{"event", "closed"}, {"id", 1}, {"host", "example.org"}, {"used", 7}});
  ASSERT_TRUE(submit("one").ok());
  EXPECT_EQ(runs_->find("one")->note, "something was killed");
  EXPECT_EQ(runs_->find("one")->network.bytes, 7);
  runs_->network_used({{"event", "opened"}, {"id", 2}, {"host", "example.org"}, {"port", 443}});
  EXPECT_EQ(runs_->find("one")->network.allowed, std::vector<std::string>{"example.org:443"});
}

TEST_F(BoxRunsTest, ARunWithoutAnInputHasNone) {
  EXPECT_EQ(runs_->input_of("none").error().kind, Error::Kind::kNotFound);
  ASSERT_TRUE(submit("one").ok());
  EXPECT_EQ(runs_->input_of("one").error().kind, Error::Kind::kInvalid);
  EXPECT_FALSE(runs_->is_in_terminal("one"));
  sandbox::RunRequest request;
  request.run_id = "two";
  request.language = Language::kBash;
  request.background = true;
  request.input = sandbox::Input::kPipe;
  ASSERT_TRUE(runs_->submit(std::move(request)).ok());
  EXPECT_GE(runs_->input_of("two").value().fd, 0);
  ASSERT_TRUE(runs_->end_input("two").ok());
  EXPECT_EQ(runs_->input_of("two").error().kind, Error::Kind::kNotFound) << "it was closed";
}

}  // namespace
