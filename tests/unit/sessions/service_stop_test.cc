// A service that ends takes the boxes that would be killed with it, in order, and no others.
#include "sessions/service_stop.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/unit/sessions/services_fixture.h"

namespace sessions {
namespace {

using std::chrono::seconds;
using Kind = base::Error::Kind;

class ServiceStopTest : public testing::ServicesFixture {
 protected:
  // Boxes end when they are asked to.
  void have_them_end() {
    answer_with([this](const std::string& id, const std::string& call) {
      if (call == "shutdown") sandbox_.set_alive(id, false);
      return base::done();
    });
  }
  ServiceStop::Report end(seconds patience) {
    auto report = ServiceStop(parts().ground, store_->session_lists).end_boxes(patience);
    EXPECT_TRUE(report.ok());
    return std::move(report).value();
  }
};

TEST_F(ServiceStopTest, EveryBoxOfTheServiceEnds) {
  for (int i = 0; i < 40; ++i) (void)running();
  (void)kept();  // it has no box
  have_them_end();
  const auto report = end(seconds(60));
  EXPECT_EQ(report.ended, 40U);
  EXPECT_TRUE(report.left.empty());
  EXPECT_EQ(calls("shutdown"), 40);
}

TEST_F(ServiceStopTest, BoxesThatLiveElsewhereLiveOn) {
  (void)running();
  fail_call("ends_with_service", Kind::kNotFound);
  EXPECT_EQ(end(seconds(60)).ended, 0U);
  EXPECT_EQ(calls("shutdown"), 0);
}

TEST_F(ServiceStopTest, WhatDoesNotEndIsNamedAndKeepsNoOther) {
  const Session session = running();
  fail_call("shutdown", Kind::kUnavailable);
  const auto report = end(seconds(1));
  EXPECT_EQ(report.ended, 0U);
  ASSERT_EQ(report.left.size(), 1U);
  EXPECT_TRUE(report.left[0].starts_with(session.id + ": ")) << report.left[0];
}

TEST_F(ServiceStopTest, OneThatGoesOnStoringKeepsNoOther) {
  const Session slow = running();
  for (int i = 0; i < 40; ++i) (void)running();
  answer_with([&](const std::string& id, const std::string& call) -> base::Status {
    if (call != "shutdown") return base::done();
    if (id == slow.id) return base::error(Kind::kConflict, "it is storing");
    sandbox_.set_alive(id, false);
    return base::done();
  });
  const auto report = end(seconds(2));
  EXPECT_EQ(report.ended, 40U);
  ASSERT_EQ(report.left.size(), 1U);
  EXPECT_EQ(report.left[0], slow.id + ": it was still being stored");
}

TEST_F(ServiceStopTest, OnceTimeIsUpTheRestIsLeft) {
  (void)running();
  const auto report = end(seconds(0));
  EXPECT_EQ(report.ended, 0U);
  EXPECT_EQ(report.left.size(), 1U);
  EXPECT_EQ(calls("shutdown"), 0);
}

}  // namespace
}  // namespace sessions
