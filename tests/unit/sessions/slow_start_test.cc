// Tests that what a start takes long for is told to whoever waits for it on the same thread.
#include "sessions/slow_start.h"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sessions {
namespace {

using Words = std::vector<std::pair<double, std::string>>;

SlowStart::Told into(Words& words) {
  return [&words](double done, const std::string& what) { words.emplace_back(done, what); };
}

TEST(SlowStart, WhoeverWaitsOnThisThreadIsTold) {
  Words words;
  const SlowStart waits(into(words));
  SlowStart::tell(0.25, "a quarter");
  SlowStart::tell(1, "all of it");
  EXPECT_EQ(words, (Words{{0.25, "a quarter"}, {1, "all of it"}}));
}

TEST(SlowStart, WhereNobodyWaitsNothingIsTold) {
  SlowStart::tell(0.5, "to nobody");
  Words words;
  { const SlowStart waits(into(words)); }
  SlowStart::tell(0.5, "to one that has gone");
  EXPECT_TRUE(words.empty());
}

TEST(SlowStart, TheNextOneIsToldInPlaceOfTheLast) {
  Words first;
  Words second;
  std::optional<SlowStart> waits(std::in_place, into(first));
  SlowStart::tell(0.5, "first");
  waits.reset();
  waits.emplace(into(second));
  SlowStart::tell(0.5, "second");
  EXPECT_EQ(first, (Words{{0.5, "first"}}));
  EXPECT_EQ(second, (Words{{0.5, "second"}}));
}

TEST(SlowStart, EachThreadTellsItsOwn) {
  Words here;
  const SlowStart waits(into(here));
  Words there;
  std::promise<void> both_wait;
  std::promise<void> told_here;
  std::thread other([&] {
    SlowStart::tell(0.1, "nobody waits on this thread");
    const SlowStart waits_too(into(there));
    both_wait.set_value();
    told_here.get_future().wait();
    SlowStart::tell(0.2, "there");
  });
  both_wait.get_future().wait();
  SlowStart::tell(0.3, "here");
  told_here.set_value();
  other.join();
  SlowStart::tell(0.4, "here still");
  EXPECT_EQ(here, (Words{{0.3, "here"}, {0.4, "here still"}}));
  EXPECT_EQ(there, (Words{{0.2, "there"}}));
}

}  // namespace
}  // namespace sessions
