// The pool: how much runs, how much waits, what is refused.
#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "mcp/call_rate.h"
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

TEST(WorkerPool, ThoseWhoAreUnknownMayHaveAPartOfTheQueueOfTheirOwn) {
  std::latch begun(1);
  std::latch release(1);
  WorkerPool::Share share{1, 2};
  share.queue_max_of_unknown = 4;
  WorkerPool pool(1, 100, share);
  ASSERT_TRUE(pool.run("first", [&] {
    begun.count_down();
    release.wait();
  }));
  begun.wait();
  const std::string unknown = std::string(1, WorkerPool::kUnknown) + "192.0.2.7";
  const auto taken = [&](const std::string& who) {
    int count = 0;
    while (count < 50 && pool.run(who, [] {})) ++count;
    return count;
  };
  EXPECT_EQ(taken("first"), 2);
  EXPECT_EQ(taken(unknown) - taken("alice"), 2) << "beside the one that may begin";
  release.count_down();
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
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

TEST(WorkerPool, WhoHasNothingWaitingFindsAPlaceBesideAFullQueue) {
  std::latch begun(1);
  std::latch release(1);
  std::atomic<int> done = 0;
  WorkerPool pool(1, 20, {1, 10});
  ASSERT_TRUE(pool.run("first", [&] {
    begun.count_down();
    release.wait();
  }));
  begun.wait();
  const auto count = [&] { ++done; };
  for (const char* who : {"flood", "other flood"}) {
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(pool.run(who, count)) << who << i;
  }
  EXPECT_FALSE(pool.run("flood", count)) << "it waits in the queue, which is full";
  EXPECT_TRUE(pool.run("modest", count));
  EXPECT_FALSE(pool.run("modest", count)) << "one each";
  EXPECT_TRUE(pool.run("another", count));
  EXPECT_FALSE(pool.run("third", count)) << "those places have an end, too";
  release.count_down();
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
  EXPECT_EQ(done, 22);
  EXPECT_TRUE(pool.run("third", count)) << "all places are free again";
}

// Keeps this thread's processor busy; nothing else counts towards a rest.
void work_for(std::chrono::nanoseconds least) {
  const auto time = [] {
    timespec now{};
    (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  for (const auto until = time() + least; time() < until;) {
  }
}

// Returns how long five pieces of work of `who`, 20 ms each, take in a pool of two threads.
std::chrono::steady_clock::duration time_of_five(WorkerPool& pool, const std::string& who) {
  std::latch done(5);
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(pool.run(who, [&done] {
      work_for(milliseconds(20));
      done.count_down();
    }));
  }
  done.wait();
  return std::chrono::steady_clock::now() - begun;
}

TEST(WorkerPool, WhoHasMoreWaitingRestsWhileOthersAsk) {
  WorkerPool pool(2, 100, {2, 100, 2, 1}, "unbounded");
  ASSERT_TRUE(pool.run("modest", [] {}));
  // Each but the last is followed by a rest as long as it took.
  EXPECT_GE(time_of_five(pool, "greedy"), milliseconds(9 * 20));
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
}

TEST(WorkerPool, WorkOfOthersDoesNotWaitForARest) {
  WorkerPool pool(1, 100, {1, 100, 1, 1});
  ASSERT_TRUE(pool.run("modest", [] {}));
  std::latch all_wait(1);
  std::string order;
  ASSERT_TRUE(pool.run("greedy", [&] {
    work_for(milliseconds(50));
    all_wait.wait();
  }));
  ASSERT_TRUE(pool.run("greedy", [&] { order += "greedy "; }));
  ASSERT_TRUE(pool.run("modest", [&] { order += "modest "; }));
  all_wait.count_down();
  EXPECT_TRUE(pool.wait_until_idle(seconds(30))) << "the rest ends, though nobody asks any more";
  EXPECT_EQ(order, "modest greedy ");
}

TEST(WorkerPool, WhatWaitsAsideTakesNobodysPlace) {
  std::latch release(1);
  std::latch all_aside(6);
  std::atomic<int> at_work = 0;
  std::atomic<int> most = 0;
  WorkerPool pool(32, 100, {16, 50, 2});
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(pool.run("one", [&] {
      {
        const WorkerPool::Aside aside;
        const WorkerPool::Aside within;  // it is aside already
        all_aside.count_down();
        release.wait();
      }
      const int now = ++at_work;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      --at_work;
    }));
  }
  all_aside.wait();  // all six, though two may be at work
  std::latch both(2);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(pool.run("one", [&] { both.arrive_and_wait(); }));
  }
  both.wait();
  release.count_down();
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 2) << "they come back to a place each";
}

TEST(WorkerPool, FewerAreAtWorkForOneWhileOthersAsk) {
  WorkerPool pool(32, 100, {16, 50, 4, 1});
  {
    std::latch all_four(4);
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(pool.run("greedy", [&] { all_four.arrive_and_wait(); }));
    }
    EXPECT_TRUE(pool.wait_until_idle(seconds(30))) << "nobody else has asked";
  }
  const auto modest = [&] {
    std::latch served(1);
    ASSERT_TRUE(pool.run("modest", [&] { served.count_down(); }));
    served.wait();
  };
  const auto asked_at = std::chrono::steady_clock::now();
  modest();
  // None of them ends before all have begun, which they may once the other one is forgotten.
  std::latch all_four(4);
  std::atomic<int> begun = 0;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(pool.run("greedy", [&] {
      ++begun;
      all_four.arrive_and_wait();
    }));
  }
  modest();
  const int soon = begun;
  if (std::chrono::steady_clock::now() - asked_at < std::chrono::milliseconds(900)) {
    EXPECT_LE(soon, 1);
  }
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
}

// Nobody asks any more, and no thread ends its work, when there is room for what waits.
TEST(WorkerPool, WhatWaitsBeginsOnceOthersAskNoMore) {
  std::promise<void> second;
  auto second_has_begun = second.get_future();
  std::latch release(1);
  WorkerPool pool(4, 100, {4, 50, 4, 1});
  const auto long_work = [&] { release.wait(); };
  ASSERT_TRUE(pool.run("one", long_work));
  ASSERT_TRUE(pool.run("other", [] {}));
  ASSERT_TRUE(pool.run("one", [&] {
    second.set_value();
    release.wait();
  }));
  ASSERT_TRUE(pool.run("other", long_work)) << "it may take the thread that watched the time";
  EXPECT_EQ(second_has_begun.wait_for(seconds(30)), std::future_status::ready);
  release.count_down();
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
}

TEST(WorkerPool, SoManyAreAtWorkForOneAndTheRestWaits) {
  std::latch release(1);
  std::atomic<int> begun = 0;
  WorkerPool pool(32, 100, {16, 3, 2});
  const auto hold = [&] {
    ++begun;
    release.wait();
  };
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(pool.run("greedy", hold)) << i;
  EXPECT_FALSE(pool.run("greedy", hold)) << "two at work, three wait";
  // Others are not kept, and have as much.
  std::latch served(2);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(pool.run("modest", [&] { served.arrive_and_wait(); }));
  }
  served.wait();
  EXPECT_EQ(begun, 2);
  release.count_down();
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
  EXPECT_EQ(begun, 5);
}

TEST(WorkerPool, WhoIsUnboundedHasAllAtWork) {
  std::latch all(6);
  WorkerPool pool(8, 100, {6, 1, 2}, "local");
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(pool.run("local", [&] { all.arrive_and_wait(); })) << i;
  }
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(pool.run("local", [] {})) << i;
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
}

TEST(WorkerPool, WorkIsOfWhoeverItTurnsOutToBeOf) {
  WorkerPool pool(8, 100, {8, 50, 1});
  std::latch first_is_known(1);
  std::latch release(1);
  const std::string unknown = WorkerPool::kUnknown + std::string("192.0.2.7");
  ASSERT_TRUE(pool.run(unknown, [&] {
    EXPECT_TRUE(WorkerPool::pass_to("one"));
    EXPECT_TRUE(WorkerPool::pass_to("one")) << "it is theirs already";
    first_is_known.count_down();
    release.wait();
  }));
  first_is_known.wait();
  std::latch asked(2);
  ASSERT_TRUE(pool.run(unknown, [&] {
    EXPECT_FALSE(WorkerPool::pass_to("one")) << "one of theirs is at work";
    EXPECT_TRUE(WorkerPool::pass_to("other"));
    asked.count_down();
  }));
  ASSERT_TRUE(pool.run(unknown, [&] { asked.count_down(); }));
  asked.wait();  // the place of the unknown was free each time
  std::atomic<bool> second = false;
  ASSERT_TRUE(pool.run("one", [&] { second = true; }));
  EXPECT_FALSE(second);
  release.count_down();
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
  EXPECT_TRUE(second);
}

TEST(WorkerPool, WhoIsNotKnownYetIsNobodyElseWhoAsks) {
  WorkerPool pool(8, 100, {8, 50, 8, 1});
  const std::string unknown = WorkerPool::kUnknown + std::string("192.0.2.7");
  std::latch both(2);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(pool.run(unknown, [&] {
      EXPECT_TRUE(WorkerPool::pass_to("one"));
      both.arrive_and_wait();  // at once, as nobody else has asked
    }));
  }
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
}

TEST(WorkerPool, WhoIsNotKnownHasNoMoreAtWorkThanBesideOthers) {
  WorkerPool pool(8, 20, {8, 20, 8, 1});
  const std::string unknown = WorkerPool::kUnknown + std::string("192.0.2.7");
  std::latch begun(1);
  std::latch release(1);
  std::atomic<int> at_work = 0;
  ASSERT_TRUE(pool.run(unknown, [&] {
    ++at_work;
    begun.count_down();
    release.wait();
  }));
  begun.wait();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(pool.run(unknown, [&] { ++at_work; })) << i;
  std::latch served(1);
  ASSERT_TRUE(pool.run("one", [&] { served.count_down(); })) << "it is known";
  served.wait();
  EXPECT_EQ(at_work, 1) << "nobody else had asked";
  release.count_down();
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
  EXPECT_EQ(at_work, 21);
}

TEST(WorkerPool, OutsideOfAPoolWorkIsAnybodys) { EXPECT_TRUE(WorkerPool::pass_to("one")); }

TEST(WorkerPool, OutsideOfAPoolNothingIsAside) {
  const WorkerPool::Aside aside;
  WorkerPool pool(1, 1, {1, 1, 1});
  std::atomic<bool> done = false;
  ASSERT_TRUE(pool.run("one", [&] { done = true; }));
  EXPECT_TRUE(pool.wait_until_idle(seconds(30)));
  EXPECT_TRUE(done);
}

TEST(CallRate, AMinutesCallsMayComeAtOnceAndThenEvenly) {
  mcp::CallRate rate(6, "local");
  const auto start = mcp::CallRate::Clock::now();
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(rate.take("alice", start)) << i;
  EXPECT_EQ(rate.take("alice", start), 10);
  EXPECT_FALSE(rate.take("bob", start)) << "each has its own";
  EXPECT_EQ(rate.take("alice", start + seconds(4)), 6);
  EXPECT_FALSE(rate.take("alice", start + seconds(10)));
  EXPECT_TRUE(rate.take("alice", start + seconds(10)));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(rate.take("local", start)) << i;
  mcp::CallRate none(0, "");
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(none.take("alice", start)) << i;
}

TEST(WorkerPool, NothingToDoIsIdle) {
  WorkerPool pool(1, 1);
  EXPECT_TRUE(pool.wait_until_idle(milliseconds(0)));
}

}  // namespace
