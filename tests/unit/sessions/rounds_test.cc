// Rounds of asking that are for all who wait.
#include "sessions/rounds.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using namespace sessions;
using std::chrono::milliseconds;

TEST(RoundsTest, ManyShareARoundThatBeganAfterTheyAsked) {
  Rounds<int> rounds;
  std::atomic<int> begun = 0;
  std::atomic<int> at_work = 0;
  constexpr int kCallers = 16;
  constexpr int kCalls = 20;
  const auto ask = [&]() -> base::Result<int> {
    EXPECT_EQ(++at_work, 1);
    const int round = ++begun;
    std::this_thread::sleep_for(milliseconds(1));  // work
    --at_work;
    return round;
  };
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&] {
        for (int call = 0; call < kCalls; ++call) {
          const int before = begun;
          EXPECT_GT(rounds.of("somebody", ask).value(), before);
        }
      });
    }
  }
  EXPECT_LT(begun, kCallers * kCalls / 2);
}

TEST(RoundsTest, OnesFailureIsNobodysWait) {
  Rounds<int> rounds;
  EXPECT_THROW(
      (void)rounds.of("somebody", []() -> base::Result<int> { throw std::runtime_error(""); }),
      std::runtime_error);
  EXPECT_EQ(rounds.of("somebody", [] { return base::Result<int>(1); }).value(), 1);
  // Another's round does not wait for this one.
  EXPECT_EQ(rounds
                .of("somebody",
                    [&rounds] { return rounds.of("another", [] { return base::Result<int>(2); }); })
                .value(),
            2);
}

}  // namespace
