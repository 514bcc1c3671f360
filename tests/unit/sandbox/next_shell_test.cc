// The shell of the next run of bash: when it starts, which run gets it, and when it goes.
#include "sandbox/box/next_shell.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "tests/unit/sandbox/fake_init.h"

namespace {

using sandbox::Language;
using sandbox::box::EventLoop;
using sandbox::box::Job;
using sandbox::box::NextShell;
using sandbox::box::Worker;
using std::chrono::milliseconds;

class NextShellTest : public ::testing::Test {
 protected:
  NextShellTest() {
    job_.run.language = Language::kBash;
    job_.request.code = "echo code";
  }
  NextShell::Of of() {
    return {.loop = *loop_,
            .root_fd = init_.root().fd(),
            .kept_shell = nullptr,
            .may_start = [this] { return directory_; },
            .start =
                [this](const std::string& directory) {
                  ++starts_;
                  Worker::Start start;
                  start.profile.program = {"/bin/bash"};
                  start.directory = directory;
                  start.code_follows = true;
                  start.root_fd = init_.root().fd();
                  return Worker::start(*loop_, init_.process(), start, {});
                },
            .unused_most = unused_most_};
  }
  // Whether the shell was ended.
  bool is_killed() {
    const FakeInit::Signal kill{FakeInit::kFirstPid, SIGKILL, sandbox::wire::SignalTarget::kGroup};
    return init_.all_signals() == std::vector<FakeInit::Signal>{kill};
  }

  std::unique_ptr<EventLoop> loop_ = EventLoop::create().value();
  FakeInit init_{*loop_};
  milliseconds unused_most_{60'000};
  std::optional<std::string> directory_ = "";
  int starts_ = 0;
  Job job_;
};

TEST_F(NextShellTest, ARunThatItFitsGetsItWithTheCode) {
  NextShell shell(of());
  EXPECT_EQ(shell.take(job_), nullptr);
  shell.prepare();
  shell.prepare();
  EXPECT_EQ(starts_, 1);
  ASSERT_TRUE(shell.is_there());
  EXPECT_EQ(shell.pid(), FakeInit::kFirstPid);
  const auto processes = init_.take_processes();
  ASSERT_EQ(processes.at(0).descriptors.size(), 5U);
  const std::unique_ptr<Worker> worker = shell.take(job_);
  ASSERT_NE(worker, nullptr);
  EXPECT_FALSE(worker->has_read_code());
  EXPECT_EQ(base::read_all(processes[0].descriptors[4].get(), 100).value(), "\n");
  EXPECT_EQ(base::read_all(processes[0].descriptors[3].get(), 100).value(), "echo code");
  EXPECT_TRUE(worker->has_read_code());
  EXPECT_FALSE(shell.is_there());
  EXPECT_EQ(shell.take(job_), nullptr) << "a run has it";
  EXPECT_EQ(init_.all_signals(), std::vector<FakeInit::Signal>());
}

TEST_F(NextShellTest, OtherRunsLeaveItAlone) {
  NextShell shell(of());
  shell.prepare();
  job_.run.language = Language::kPython;
  EXPECT_EQ(shell.take(job_), nullptr);
  job_.run.language = Language::kBash;
  job_.request.background = true;
  EXPECT_EQ(shell.take(job_), nullptr);
  EXPECT_TRUE(shell.is_there());
}

TEST_F(NextShellTest, ARunThatItDoesNotFitEndsIt) {
  const auto ends_it = [this](auto change) {
    NextShell shell(of());
    shell.prepare();
    const pid_t pid = shell.pid();
    Job job;
    job.run.language = Language::kBash;
    change(job);
    EXPECT_TRUE(shell.waits_for(job));
    EXPECT_EQ(shell.take(job), nullptr);
    EXPECT_FALSE(shell.is_there());
    return init_.all_signals().back().pid == pid;
  };
  EXPECT_TRUE(ends_it([](Job& job) { job.request.restart = true; }));
  EXPECT_TRUE(ends_it([](Job& job) { job.request.env = {{"A", "b"}}; }));
  EXPECT_TRUE(ends_it([](Job& job) { job.request.directory = "/elsewhere"; }));
  EXPECT_TRUE(ends_it([](Job& job) { job.bash_state_before = 1; })) << "it has an older state";
}

TEST_F(NextShellTest, ItEndsWhereNoRunWantsIt) {
  unused_most_ = milliseconds(20);
  NextShell shell(of());
  shell.prepare();
  EXPECT_TRUE(init_.turn_until([&shell] { return !shell.is_there(); }));
  EXPECT_TRUE(is_killed());
}

TEST_F(NextShellTest, TheOneOfANewSessionStays) {
  unused_most_ = milliseconds(20);
  NextShell shell(of());
  shell.prepare_to_stay();
  bool is_over = false;
  loop_->after(milliseconds(60), [&is_over] { is_over = true; });
  EXPECT_TRUE(init_.turn_until([&is_over] { return is_over; }));
  EXPECT_TRUE(shell.is_there());
}

TEST_F(NextShellTest, ItStartsOnceTheEndOfTheRunWasTold) {
  NextShell shell(of());
  shell.end_was_told();  // a run of another language
  shell.prepare_soon();
  shell.prepare_soon();
  EXPECT_EQ(starts_, 0);
  shell.end_was_told();
  EXPECT_EQ(starts_, 0) << "whoever tells goes on first";
  ASSERT_TRUE(loop_->turn().ok());
  EXPECT_EQ(starts_, 1);
  shell.drop();
  shell.prepare_soon();
  EXPECT_TRUE(init_.turn_until([&shell] { return shell.is_there(); })) << "nobody was told";
  EXPECT_EQ(starts_, 2);
}

TEST_F(NextShellTest, NoneStartsWhereNoneMay) {
  directory_ = std::nullopt;
  NextShell shell(of());
  shell.prepare();
  EXPECT_EQ(starts_, 0);
  EXPECT_FALSE(shell.is_there());
  shell.drop();
  EXPECT_EQ(init_.all_signals(), std::vector<FakeInit::Signal>());
}

TEST_F(NextShellTest, OneThatHasEndedIsGone) {
  NextShell shell(of());
  shell.prepare();
  EXPECT_FALSE(shell.exited(FakeInit::kFirstPid + 1));
  EXPECT_TRUE(shell.is_there());
  EXPECT_TRUE(shell.exited(FakeInit::kFirstPid));
  EXPECT_FALSE(shell.is_there());
  EXPECT_FALSE(shell.exited(FakeInit::kFirstPid));
}

}  // namespace
