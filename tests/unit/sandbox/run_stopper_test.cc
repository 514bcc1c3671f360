// How a run is made to end: who gets which signal, when, and what a frozen box does to the times.
#include "sandbox/box/run_stopper.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "sandbox/wire/frame.h"
#include "tests/unit/sandbox/fake_init.h"

namespace {

using sandbox::Cause;
using sandbox::Language;
using sandbox::RunStatus;
using sandbox::box::EventLoop;
using sandbox::box::FileChanges;
using sandbox::box::Interpreters;
using sandbox::box::Job;
using sandbox::box::KeptState;
using sandbox::box::RunStopper;
using sandbox::box::Worker;
using sandbox::wire::SignalTarget;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Signals = std::vector<FakeInit::Signal>;

class RunStopperTest : public ::testing::Test {
 protected:
  RunStopperTest() {
    job_->run.run_id = "run";
    job_->run.language = Language::kPython;
    job_->run.status = RunStatus::kRunning;
  }

  // A process of the run's own, or an interpreter that has not said yet that it is there.
  std::unique_ptr<Worker> start(bool own) {
    const std::string code = "code";
    Worker::Start start;
    start.profile.program = {"/bin/sh"};
    start.directory = "/workspace";
    start.root_fd = init_.root().fd();
    if (own) start.code = &code;
    auto worker = Worker::start(*loop_, init_.process(), start,
                                {[](const auto&, const auto&) {}, [](const std::string&) {}});
    process_ = std::move(init_.take_processes().at(0));
    return std::move(worker).value();
  }
  void give_own_process() {
    job_->own_worker = start(true);
    job_->worker = job_->own_worker.get();
  }
  void give_interpreter(bool by_frame = false) {
    interpreter_ = start(false);
    job_->worker = interpreter_.get();
    const std::string ready = sandbox::wire::encode_frame(
        'J', by_frame ? R"({"type": "ready", "interrupt": "frame"})" : R"({"type": "ready"})");
    ASSERT_EQ(::write(process_.descriptors.at(4).get(), ready.data(), ready.size()),
              static_cast<ssize_t>(ready.size()));
    ASSERT_TRUE(init_.turn_until([this] { return interpreter_->began(); }));
  }
  static FakeInit::Signal signal(int number, SignalTarget target) {
    return {FakeInit::kFirstPid, number, target};
  }
  // Returns the signals, once there are so many.
  Signals signals(std::size_t count) {
    EXPECT_TRUE(init_.turn_until([this, count] { return init_.signals().size() >= count; }));
    return init_.all_signals();
  }

  std::unique_ptr<EventLoop> loop_ = EventLoop::create().value();
  FakeInit init_{*loop_};
  const TemporaryDirectory workspace_;
  const FileChanges files_{workspace_.fd(), 1000};
  std::map<Language, KeptState*> kept_states_;
  const Interpreters interpreters_{kept_states_};
  std::shared_ptr<Job> job_ = std::make_shared<Job>();
  FakeInit::Process process_;
  std::unique_ptr<Worker> interpreter_;
  RunStopper stopper_{
      {.loop = *loop_,
       .init = init_.process(),
       .files = files_,
       .interpreters = interpreters_,
       .find = [this](const std::string& run_id) { return run_id == "run" ? job_ : nullptr; }}};
};

TEST_F(RunStopperTest, AnInterpreterIsInterruptedThenItsChildrenThenAllAreKilled) {
  give_interpreter();
  const Clock::time_point began = Clock::now();
  stopper_.stop(*job_, Cause::kTimeout);
  EXPECT_EQ(job_->stop_cause, Cause::kTimeout);
  EXPECT_FALSE(job_->group_interrupted);
  const Signals first = {signal(SIGINT, SignalTarget::kProcess)};
  EXPECT_EQ(signals(1), first);
  const Signals second = {first[0], signal(SIGINT, SignalTarget::kGroup)};
  EXPECT_EQ(signals(2), second);
  EXPECT_GE(Clock::now() - began, milliseconds(500));
  EXPECT_TRUE(job_->group_interrupted);
  const Signals third = {second[0], second[1], signal(SIGKILL, SignalTarget::kGroup)};
  EXPECT_EQ(signals(3), third);
  EXPECT_GE(Clock::now() - began, milliseconds(1500));
}

TEST_F(RunStopperTest, AProcessOfItsOwnHasOneInterruptWithItsChildren) {
  give_own_process();
  stopper_.stop(*job_, Cause::kCancelled);
  const Signals first = {signal(SIGINT, SignalTarget::kGroup)};
  EXPECT_EQ(init_.all_signals(), first);
  EXPECT_FALSE(job_->group_interrupted) << "it may yet end as it likes";
  EXPECT_TRUE(init_.turn_until([this] { return job_->group_interrupted; }));
  EXPECT_EQ(init_.all_signals(), first) << "a second one would hit what the first has begun";
}

TEST_F(RunStopperTest, AnInterpreterThatWantsAFrameGetsNoSignal) {
  give_interpreter(/*by_frame=*/true);
  stopper_.stop(*job_, Cause::kTimeout);
  EXPECT_EQ(init_.all_signals(), Signals());
  EXPECT_TRUE(job_->worker->take_interrupted());
}

TEST_F(RunStopperTest, WhoseLimitIsReachedIsInterruptedWithItsChildren) {
  give_interpreter();
  const Clock::time_point began = Clock::now();
  stopper_.stop(*job_, Cause::kPids);
  EXPECT_TRUE(job_->group_interrupted);
  const Signals first = {signal(SIGINT, SignalTarget::kGroup)};
  EXPECT_EQ(init_.all_signals(), first);
  EXPECT_EQ(signals(2).back(), signal(SIGKILL, SignalTarget::kGroup));
  const auto took = Clock::now() - began;
  EXPECT_GE(took, milliseconds(1000)) << "a fork bomb has less time";
}

TEST_F(RunStopperTest, WhatHasNotBegunIsKilledAtOnce) {
  interpreter_ = start(false);
  job_->worker = interpreter_.get();
  stopper_.stop(*job_, Cause::kCancelled);
  EXPECT_EQ(init_.all_signals(), Signals{signal(SIGKILL, SignalTarget::kGroup)});
  EXPECT_EQ(job_->escalation, 0U);
}

TEST_F(RunStopperTest, TheFirstCauseStays) {
  give_own_process();
  stopper_.stop(*job_, Cause::kCancelled);
  stopper_.stop(*job_, Cause::kTimeout);
  EXPECT_EQ(job_->stop_cause, Cause::kCancelled);
  EXPECT_EQ(init_.all_signals().size(), 1U);
}

TEST_F(RunStopperTest, OneThatWaitsForRoomIsNoFaultOfIts) {
  stopper_.stop(*job_, Cause::kPids);
  EXPECT_FALSE(job_->stop_cause);
  stopper_.stop(*job_, Cause::kCancelled);
  EXPECT_EQ(job_->stop_cause, Cause::kCancelled) << "then it ends without a start";
  EXPECT_EQ(init_.all_signals(), Signals());
}

TEST_F(RunStopperTest, AQueuedRunIsNotStopped) {
  job_->run.status = RunStatus::kQueued;
  stopper_.stop(*job_, Cause::kCancelled);
  EXPECT_FALSE(job_->stop_cause);
}

TEST_F(RunStopperTest, ADeadlineStopsTheRun) {
  give_own_process();
  EXPECT_EQ(RunStopper::left_ms(*job_), 0);
  stopper_.arm_deadline(*job_, 20);
  EXPECT_GT(RunStopper::left_ms(*job_), 0);
  EXPECT_LE(RunStopper::left_ms(*job_), 20);
  EXPECT_TRUE(init_.turn_until([this] { return job_->stop_cause.has_value(); }));
  EXPECT_EQ(job_->stop_cause, Cause::kTimeout);
  EXPECT_EQ(RunStopper::left_ms(*job_), 0);
}

TEST_F(RunStopperTest, ARunThatHasEndedHasNoTimes) {
  give_own_process();
  stopper_.arm_deadline(*job_, 60'000);
  stopper_.forget(*job_);
  EXPECT_EQ(job_->deadline, 0U);
  stopper_.stop(*job_, Cause::kCancelled);
  EXPECT_NE(job_->escalation, 0U);
  stopper_.forget(*job_);
  EXPECT_EQ(job_->escalation, 0U);
}

TEST_F(RunStopperTest, NoTimePassesInAFrozenBox) {
  give_own_process();
  stopper_.arm_deadline(*job_, 60'000);
  stopper_.set_frozen(true);
  stopper_.hold(*job_);
  EXPECT_EQ(job_->deadline, 0U);
  const std::int64_t left = RunStopper::left_ms(*job_);
  EXPECT_GT(left, 50'000);
  stopper_.stop(*job_, Cause::kCancelled);  // while it is frozen
  EXPECT_EQ(job_->escalation, 0U);
  EXPECT_TRUE(job_->escalation_held);
  EXPECT_EQ(job_->escalation_at_ms, 500);
  stopper_.set_frozen(false);
  stopper_.go_on(*job_);
  EXPECT_NE(job_->escalation, 0U);
  EXPECT_TRUE(init_.turn_until([this] { return job_->escalation_step == 2; }));
  stopper_.set_frozen(true);
  stopper_.hold(*job_);
  EXPECT_EQ(job_->escalation, 0U);
  EXPECT_LE(job_->escalation_at_ms, 1000) << "what is left of it, not all of it anew";
}

}  // namespace
