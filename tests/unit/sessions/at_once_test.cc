// Many are asked at once, each of them once, by a bounded number of threads.
#include "sessions/at_once.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace sessions {
namespace {

TEST(AtOnce, EachIsAskedOnceBeforeItReturns) {
  for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 500U}) {
    std::vector<std::atomic<int>> asked(count);
    at_once(count, [&asked](std::size_t i) { ++asked.at(i); });
    EXPECT_TRUE(std::all_of(asked.begin(), asked.end(), [](const auto& n) { return n == 1; }));
  }
}

TEST(AtOnce, OneAloneIsAskedByTheCaller) {
  std::thread::id asked_by;
  at_once(1, [&asked_by](std::size_t) { asked_by = std::this_thread::get_id(); });
  EXPECT_EQ(asked_by, std::this_thread::get_id());
}

TEST(AtOnce, SixteenAreUnderWayTogetherAndNeverMore) {
  constexpr std::size_t kTogether = 16;
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::thread::id> threads;
  at_once(100, [&](std::size_t) {
    std::unique_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
    changed.notify_all();
    changed.wait(lock, [&] { return threads.size() >= kTogether; });
  });
  EXPECT_EQ(threads.size(), kTogether);
}

TEST(AtOnce, OneThatIsSlowKeepsNoOther) {
  constexpr std::size_t kCount = 50;
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t done = 0;
  at_once(kCount, [&](std::size_t i) {
    std::unique_lock lock(mutex);
    if (i == 0) changed.wait(lock, [&] { return done == kCount - 1; });
    ++done;
    changed.notify_all();
  });
  EXPECT_EQ(done, kCount);
}

}  // namespace
}  // namespace sessions
