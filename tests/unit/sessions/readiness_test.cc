// A server says that it is ready by what has happened, and that counts for a time.
#include "sessions/readiness.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace sessions {
namespace {

using namespace std::chrono_literals;
using Kind = base::Error::Kind;

class ReadinessTest : public ::testing::Test {
 protected:
  void pass(std::chrono::seconds time) { now_ += time; }
  void start(const std::string& principal) { readiness_.started(principal, nullptr); }
  void fail(const std::string& principal, Kind kind, int os_errno = 0) {
    const base::Error failure{kind, os_errno, "why"};
    readiness_.started(principal, &failure);
  }
  void write() { readiness_.wrote(now_, nullptr); }
  void fail_to_write(std::chrono::seconds after, Kind kind = Kind::kUnavailable, int os_errno = 0) {
    const auto begun = now_;
    pass(after);
    const base::Error failure{kind, os_errno, "why"};
    readiness_.wrote(begun, &failure);
  }
  bool is_ready() { return readiness_.look().trouble.empty(); }
  bool is_full() { return readiness_.look().disk_is_full; }

  Readiness::Clock::time_point now_ = Readiness::Clock::now();
  Readiness readiness_{[this] { return now_; }};
};

TEST_F(ReadinessTest, NothingTriedIsReady) {
  EXPECT_TRUE(is_ready());
  EXPECT_FALSE(is_full());
}

TEST_F(ReadinessTest, StartsThatFailByTheHostCountForAMinute) {
  fail("alice", Kind::kInternal);
  EXPECT_FALSE(is_ready());
  pass(59s);
  EXPECT_FALSE(is_ready());
  pass(1s);
  EXPECT_TRUE(is_ready());
}

TEST_F(ReadinessTest, OneThatSucceedsIsEnough) {
  fail("alice", Kind::kUnavailable);
  start("alice");
  EXPECT_TRUE(is_ready());
  fail("alice", Kind::kInternal);
  EXPECT_TRUE(is_ready());
  pass(60s);
  fail("alice", Kind::kInternal);
  EXPECT_FALSE(is_ready());
}

TEST_F(ReadinessTest, OfSeveralWhoAskedOneIsNotEnough) {
  fail("alice", Kind::kInternal);
  fail("bob", Kind::kInvalid);
  EXPECT_TRUE(is_ready());
  fail("alice", Kind::kInternal);
  EXPECT_TRUE(is_ready());
  fail("bob", Kind::kUnsupported);
  EXPECT_FALSE(is_ready());
}

TEST_F(ReadinessTest, WhatACallerAskedForWronglySaysNothing) {
  for (const Kind kind : {Kind::kInvalid, Kind::kNotFound, Kind::kLimit, Kind::kConflict}) {
    EXPECT_EQ(outcome_of(base::error(kind, "")), Outcome::kCallersFault);
    fail("alice", kind);
  }
  EXPECT_TRUE(is_ready());
}

TEST_F(ReadinessTest, ADatabaseThatCannotBeWrittenForTenSeconds) {
  fail_to_write(1s);
  EXPECT_TRUE(is_ready());
  pass(8s);
  EXPECT_TRUE(is_ready());
  pass(1s);
  EXPECT_FALSE(is_ready());
  pass(49s);
  EXPECT_FALSE(is_ready());
  fail_to_write(0s, Kind::kInternal);
  pass(59s);
  EXPECT_FALSE(is_ready());
  pass(1s);
  EXPECT_TRUE(is_ready()) << "nobody has tried for a minute";
  fail_to_write(1s);
  EXPECT_TRUE(is_ready()) << "what was before is forgotten";
}

TEST_F(ReadinessTest, AStatementThatHasWaitedForTenSecondsSaysIt) {
  fail_to_write(10s);
  EXPECT_FALSE(is_ready());
  write();
  EXPECT_TRUE(is_ready());
}

TEST_F(ReadinessTest, AFullDiskIsNoReasonToSendNobody) {
  for (const int full : {ENOSPC, EDQUOT}) {
    fail_to_write(20s, Kind::kLimit, full);
    fail("alice", Kind::kUnavailable, full);
    EXPECT_TRUE(is_ready());
    EXPECT_TRUE(is_full());
    write();
    EXPECT_TRUE(is_full()) << "no sandbox has started yet";
    start("alice");
    EXPECT_FALSE(is_full());
  }
  fail_to_write(1s, Kind::kLimit, ENOSPC);
  pass(60s);
  EXPECT_FALSE(is_full());
}

}  // namespace
}  // namespace sessions
