// Work beside the event loop.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "sandbox/box/side_thread.h"

namespace {

using sandbox::box::EventLoop;
using sandbox::box::SideThread;
using std::chrono::milliseconds;

class SideThreads : public testing::Test {
 protected:
  std::unique_ptr<EventLoop> loop_ = std::move(EventLoop::create().value());
  std::unique_ptr<SideThread> side_ = std::move(SideThread::create(*loop_).value());
};

TEST_F(SideThreads, WorksOnAnotherThreadAndGoesOnOnTheLoops) {
  const auto loops = std::this_thread::get_id();
  std::thread::id at_work;
  std::thread::id afterwards;
  side_->run([&](const std::stop_token&) -> std::function<void()> {
    at_work = std::this_thread::get_id();
    return [&] {
      afterwards = std::this_thread::get_id();
      EXPECT_FALSE(side_->busy());
      loop_->stop();
    };
  });
  EXPECT_TRUE(side_->busy());
  ASSERT_TRUE(loop_->run().ok());
  EXPECT_NE(at_work, loops);
  EXPECT_EQ(afterwards, loops);
}

TEST_F(SideThreads, TheLoopGoesOnWhileTheWorkWaits) {
  std::promise<void> loop_went_on;
  int done = 0;
  side_->run([&](const std::stop_token&) -> std::function<void()> {
    loop_went_on.get_future().wait();  // for ever, if the loop waited for this
    return [&] {
      ++done;
      loop_->stop();
    };
  });
  loop_->after(milliseconds(1), [&] { loop_went_on.set_value(); });
  ASSERT_TRUE(loop_->run().ok());
  EXPECT_EQ(done, 1);
}

TEST_F(SideThreads, OnePieceOfWorkAfterTheOther) {
  int left = 100;
  std::function<void()> again = [&] {
    if (left-- == 0) return loop_->stop();
    side_->run([&](const std::stop_token&) -> std::function<void()> { return again; });
  };
  again();
  ASSERT_TRUE(loop_->run().ok());
  EXPECT_EQ(left, -1);
}

TEST_F(SideThreads, WhoWaitsForTheWorkMayGiveUp) {
  std::promise<void> may_end;
  int done = 0;
  EXPECT_TRUE(side_->finish_within(milliseconds(0))) << "nothing is on";
  side_->run([&](const std::stop_token&) -> std::function<void()> {
    may_end.get_future().wait();
    return [&] { ++done; };
  });
  EXPECT_FALSE(side_->finish_within(milliseconds(20)));
  EXPECT_TRUE(side_->busy());
  may_end.set_value();
  EXPECT_TRUE(side_->finish_within(std::chrono::minutes(1)));
  EXPECT_EQ(done, 1);
}

TEST_F(SideThreads, TheEndTellsTheWorkToStop) {
  std::promise<void> begun;
  bool was_told = false;
  side_->run([&](const std::stop_token& stop) -> std::function<void()> {
    begun.set_value();
    while (!stop.stop_requested()) std::this_thread::yield();
    was_told = true;
    return [] { FAIL() << "its loop runs no more"; };
  });
  begun.get_future().wait();
  side_.reset();
  EXPECT_TRUE(was_told);
}

TEST(EventLoopEnd, WhatATimerHoldsMayUseTheLoop) {
  struct Holder {
    EventLoop& loop;
    EventLoop::TimerId other;
    ~Holder() { loop.cancel(other); }
  };
  auto loop = EventLoop::create().value();
  const auto other = loop->after(milliseconds(1000), [] {});
  loop->after(milliseconds(0), [keep = std::make_shared<Holder>(Holder{*loop, other})] {});
  loop.reset();  // under asan: no use after free
}

}  // namespace
