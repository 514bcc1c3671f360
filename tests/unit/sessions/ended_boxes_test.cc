// A box that has ended is told to exactly one of those who clear up, and wakes whoever waits.
#include "sessions/ended_boxes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <thread>

namespace sessions {
namespace {

using std::chrono::steady_clock;

// Nobody waits for so long, unless a test is about to fail.
steady_clock::time_point far_off() { return steady_clock::now() + std::chrono::minutes(5); }

TEST(EndedBoxesTest, AllThatHaveEndedAreTakenOnce) {
  EndedBoxes ended;
  ended.add("session_a");
  ended.add("session_b");
  EXPECT_TRUE(ended.wait_until(far_off(), {}));
  EXPECT_EQ(ended.take(), (std::vector<std::string>{"session_a", "session_b"}));
  EXPECT_TRUE(ended.take().empty());
  EXPECT_FALSE(ended.wait_until(steady_clock::now(), {})) << "what was taken wakes nobody";
}

TEST(EndedBoxesTest, OneThatEndedBeforeAnybodyWaitedIsThere) {
  EndedBoxes ended;
  ended.add("session_a");
  EXPECT_TRUE(ended.wait_until(steady_clock::now() - std::chrono::hours(1), {}));
  EXPECT_TRUE(ended.wait_until(far_off(), {})) << "a wait takes nothing";
  EXPECT_EQ(ended.take().size(), 1U);
}

TEST(EndedBoxesTest, OneThatEndsWakesWhoeverWaits) {
  EndedBoxes ended;
  const auto wait = [&ended] { return ended.wait_until(far_off(), {}); };
  auto one = std::async(std::launch::async, wait);
  auto other = std::async(std::launch::async, wait);
  ended.add("session_a");
  EXPECT_TRUE(one.get());
  EXPECT_TRUE(other.get());
}

TEST(EndedBoxesTest, AWaitThatNothingEndsGoesOnToItsDeadline) {
  EndedBoxes ended;
  const auto deadline = steady_clock::now() + std::chrono::milliseconds(20);
  EXPECT_FALSE(ended.wait_until(deadline, {}));
  EXPECT_GE(steady_clock::now(), deadline);
}

TEST(EndedBoxesTest, AStopEndsTheWait) {
  EndedBoxes ended;
  std::stop_source stop;
  auto waits =
      std::async(std::launch::async, [&] { return ended.wait_until(far_off(), stop.get_token()); });
  stop.request_stop();
  EXPECT_FALSE(waits.get());
  EXPECT_FALSE(ended.wait_until(far_off(), stop.get_token())) << "nor does another begin";
}

TEST(EndedBoxesTest, EachIsOfOneWhoClearsUpHoweverManyDo) {
  constexpr int kAdders = 2;
  constexpr int kEach = 1000;
  EndedBoxes ended;
  std::vector<std::vector<std::string>> taken(2);
  {
    std::stop_source stop;
    std::vector<std::jthread> takers;
    for (auto& mine : taken) {
      takers.emplace_back([&ended, &mine, token = stop.get_token()] {
        while (ended.wait_until(far_off(), token)) {
          const auto some = ended.take();
          mine.insert(mine.end(), some.begin(), some.end());
        }
      });
    }
    {
      std::vector<std::jthread> adders;
      for (int adder = 0; adder < kAdders; ++adder) {
        adders.emplace_back([&ended, adder] {
          for (int i = 0; i < kEach; ++i) ended.add(std::to_string(adder * kEach + i));
        });
      }
    }
    stop.request_stop();
  }
  std::vector<std::string> all = ended.take();  // that nobody got to
  for (const auto& some : taken) all.insert(all.end(), some.begin(), some.end());
  EXPECT_EQ(all.size(), std::size_t{kAdders * kEach});
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

}  // namespace
}  // namespace sessions
