// The pool: how much runs, how much waits, what is refused.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "mcp/worker_pool.h"

namespace {

using mcp::WorkerPool;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(WorkerPool, RunsAsManyAtOnceAsItHasThreads) {
  WorkerPool pool(4, 0);
  std::latch all_there(4);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(pool.run([&] { all_there.arrive_and_wait(); }));
  }
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
}

TEST(WorkerPool, RefusesWhatDoesNotFitItsQueue) {
  std::latch release(1);
  std::atomic<int> done = 0;
  WorkerPool pool(2, 3);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(pool.run([&] {
      release.wait();
      ++done;
    }));
  }
  EXPECT_FALSE(pool.run([&] { ++done; }));
  EXPECT_FALSE(pool.wait_until_idle(milliseconds(1)));
  release.count_down();
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
  EXPECT_EQ(done, 5);
  EXPECT_TRUE(pool.run([&] { ++done; }));
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
  EXPECT_EQ(done, 6);
}

TEST(WorkerPool, IdleMeansThatWhatTheWorkHeldIsGone) {
  WorkerPool pool(1, 1);
  auto held = std::make_shared<int>(5);
  const std::weak_ptr<int> seen = held;
  ASSERT_TRUE(pool.run([held = std::move(held)] { (void)*held; }));
  ASSERT_TRUE(pool.wait_until_idle(seconds(30)));
  EXPECT_TRUE(seen.expired());
}

TEST(WorkerPool, ItsEndWaitsForWhatRunsAndDropsWhatWaits) {
  std::latch begun(1);
  std::latch release(1);
  std::atomic<bool> ended = false;
  std::atomic<bool> second = false;
  std::thread releaser;
  {
    WorkerPool pool(1, 1);
    ASSERT_TRUE(pool.run([&] {
      begun.count_down();
      release.wait();
      ended = true;
    }));
    begun.wait();
    ASSERT_TRUE(pool.run([&] { second = true; }));
    releaser = std::thread([&] { release.count_down(); });
    // Whether the second began is a race of the releaser and the pool's end: either is right.
  }
  EXPECT_TRUE(ended);
  releaser.join();
}

TEST(WorkerPool, NobodyGetsAllThreads) {
  std::latch release(1);
  std::atomic<int> greedy = 0;
  WorkerPool pool(8, 100, {4, 10});
  for (int i = 0; i < 14; ++i) {
    ASSERT_TRUE(pool.run("greedy", [&] {
      ++greedy;
      release.wait();
    })) << i;
  }
  EXPECT_FALSE(pool.run("greedy", [] {}));
  std::latch served(4);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(pool.run("modest " + std::to_string(i), [&] { served.arrive_and_wait(); }));
  }
  served.wait();  // all four at once, beside the others
  EXPECT_LE(greedy, 4);
  release.count_down();
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
  EXPECT_EQ(greedy, 14);
}

TEST(WorkerPool, ThoseWhoWaitTakeTurns) {
  std::latch begun(1);
  std::latch release(1);
  std::mutex mutex;
  std::string order;
  WorkerPool pool(1, 100, {1, 50});
  ASSERT_TRUE(pool.run("first", [&] {
    begun.count_down();
    release.wait();
  }));
  begun.wait();
  for (const char* who : {"a", "a", "a", "b", "c", "b"}) {
    ASSERT_TRUE(pool.run(who, [&, who] {
      const std::lock_guard lock(mutex);
      order += who;
    }));
  }
  release.count_down();
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
  EXPECT_EQ(order, "abcaba");
}

TEST(WorkerPool, NothingToDoIsIdle) {
  WorkerPool pool(1, 1);
  EXPECT_TRUE(pool.wait_until_idle(milliseconds(0)));
}

}  // namespace
