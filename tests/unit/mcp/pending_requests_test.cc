// Open requests: opened once, closed once, cancelled in between or not.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/pending_requests.h"

namespace {

using mcp::PendingRequests;

TEST(Pending, AnAnswerIsSentOnce) {
  PendingRequests pending;
  ASSERT_TRUE(pending.open(1));
  EXPECT_TRUE(pending.is_open(1));
  EXPECT_EQ(pending.count(), 1U);
  EXPECT_TRUE(pending.close(1));
  EXPECT_FALSE(pending.close(1));
  EXPECT_FALSE(pending.is_open(1));
  EXPECT_EQ(pending.count(), 0U);
}

TEST(Pending, AnIdInUseIsRefusedUntilItIsClosed) {
  PendingRequests pending;
  ASSERT_TRUE(pending.open("a"));
  EXPECT_FALSE(pending.open("a"));
  EXPECT_TRUE(pending.close("a"));
  EXPECT_TRUE(pending.open("a"));
}

TEST(Pending, NumbersAndStringsDiffer) {
  PendingRequests pending;
  EXPECT_TRUE(pending.open(1));
  EXPECT_TRUE(pending.open("1"));
  EXPECT_TRUE(pending.cancel("1"));
  EXPECT_TRUE(pending.close(1));
  EXPECT_FALSE(pending.close("1"));
}

TEST(Pending, NothingIsSentAfterACancellation) {
  PendingRequests pending;
  const auto token = pending.open(1);
  ASSERT_TRUE(token);
  EXPECT_FALSE(token->stop_requested());
  EXPECT_TRUE(pending.cancel(1));
  EXPECT_TRUE(token->stop_requested());
  EXPECT_FALSE(pending.open(1));
  EXPECT_FALSE(pending.close(1));
}

TEST(Pending, CancellingTwiceOrTooLateDoesNoHarm) {
  PendingRequests pending;
  ASSERT_TRUE(pending.open(1));
  EXPECT_TRUE(pending.cancel(1));
  EXPECT_TRUE(pending.cancel(1));
  EXPECT_FALSE(pending.close(1));
  EXPECT_FALSE(pending.cancel(1));
  EXPECT_FALSE(pending.cancel("never"));
}

TEST(Pending, CancelOneLeavesTheOthers) {
  PendingRequests pending;
  const auto first = pending.open(1);
  const auto second = pending.open(2);
  EXPECT_TRUE(pending.cancel(1));
  EXPECT_TRUE(first->stop_requested());
  EXPECT_FALSE(second->stop_requested());
  EXPECT_TRUE(pending.close(2));
}

TEST(Pending, CancelAll) {
  PendingRequests pending;
  const auto first = pending.open(1);
  const auto second = pending.open("b");
  pending.cancel_all();
  EXPECT_TRUE(first->stop_requested());
  EXPECT_TRUE(second->stop_requested());
  EXPECT_FALSE(pending.close(1));
  EXPECT_FALSE(pending.close("b"));
}

TEST(Pending, ACallbackMayUseTheTable) {
  PendingRequests pending;
  const auto token = pending.open(1);
  bool closed_with_send = true;
  const std::stop_callback on_stop(*token, [&] { closed_with_send = pending.close(1); });
  EXPECT_TRUE(pending.cancel(1));
  EXPECT_FALSE(closed_with_send);
  EXPECT_EQ(pending.count(), 0U);
}

TEST(Pending, CancelAndCloseRaceToOneOutcome) {
  PendingRequests pending;
  for (int round = 0; round < 200; ++round) {
    ASSERT_TRUE(pending.open(round));
    std::latch start(2);
    bool cancelled = false;
    std::thread canceller([&] {
      start.arrive_and_wait();
      cancelled = pending.cancel(round);
    });
    start.arrive_and_wait();
    const bool sent = pending.close(round);
    canceller.join();
    EXPECT_NE(sent, cancelled);
  }
  EXPECT_EQ(pending.count(), 0U);
}

}  // namespace
