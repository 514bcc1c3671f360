// A spare session is given once, to who wants one like it, and ends when nobody does.
#include "sessions/spare_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sessions/patience.h"
#include "sessions/session.h"
#include "sessions/session_lists.h"
#include "sessions/session_table.h"
#include "sessions/spare_table.h"
#include "sessions/store.h"
#include "tests/unit/sessions/services_fixture.h"

namespace sessions {
namespace {

using Kind = base::Error::Kind;

class SparePoolTest : public testing::ServicesFixture {
 protected:
  static constexpr std::chrono::seconds kLong{30};

  SparePoolTest() { config_.spare_sessions = 1; }

  SparePool& spares() { return parts().spares; }
  Session wish() { return parts().ground.new_session(principal_, config_.default_limits); }
  // Starts the pool; returns the spare session that it gives to the next.
  Session filled() {
    answer_boxes();
    EXPECT_TRUE(spares().start().ok());
    wait_for_spare();
    return spare_rows().at(0);
  }
  // Returns the id of the one that it gives; empty: none.
  std::string adopted_by(const Session& wanted) {
    const auto adopted = spares().adopt(wanted, 1000);
    return adopted.ok() && adopted.value() ? adopted.value()->id : "";
  }
  // Until one is in the pool, which leaves it there: its principal has no room for it.
  void wait_for_spare() {
    EXPECT_TRUE(wait_until(kLong, [&] {
      const auto refused = spares().adopt(wish(), 0);
      return !refused.ok() && refused.error().kind == Kind::kLimit;
    }));
  }
  // Boxes live from their start to their end; `answer`, if any, is asked first.
  void answer_boxes(Answer answer = {}) {
    answer_with([this, answer = std::move(answer)](const std::string& id, const std::string& call) {
      auto answered = answer ? answer(id, call) : base::done();
      if (!answered.ok()) return answered;
      if (call == "start") sandbox_.set_alive(id, true);
      if (call == "shutdown_for_good") sandbox_.set_alive(id, false);
      return answered;
    });
  }
  std::vector<Session> spare_rows() {
    std::vector<Session> found = store_->session_lists.live().value();
    std::erase_if(found,
                  [](const Session& session) { return session.principal_id != kSparePrincipal; });
    return found;
  }
  // Makes the row of one as a server leaves it that is killed.
  Session left_behind(std::int64_t made_before_ms) {
    return kept([made_before_ms](Session& wanted) {
      wanted.principal_id = kSparePrincipal;
      wanted.created_at -= made_before_ms;
    });
  }
};

TEST_F(SparePoolTest, ASpareSessionIsTheirsWhoAskAndAnotherIsMade) {
  const Session spare = filled();
  Session wanted = wish();
  wanted.name = "mine";
  const auto adopted = spares().adopt(wanted, 1000).value();
  ASSERT_TRUE(adopted);
  EXPECT_EQ(adopted->id, spare.id);
  EXPECT_EQ(adopted->principal_id, principal_);
  EXPECT_EQ(calls("taken", spare.id), 1);
  wait_for_spare();
  EXPECT_NE(spare_rows().at(0).id, spare.id);
}

TEST_F(SparePoolTest, WhoWantsSomethingElseGetsNone) {
  const Session spare = filled();
  const std::vector<std::function<void(Session&)>> wishes = {
      [](Session& wanted) { wanted.limits.memory_mb += 1; },
      [](Session& wanted) {
        wanted.env = {{"A", "b"}};
      },
      [](Session& wanted) { wanted.host_folders.emplace(); },
      [](Session& wanted) { wanted.paths.blocked = {"/workspace/a"}; },
      [](Session& wanted) { wanted.network.emplace(); },
      [](Session& wanted) { wanted.template_name = "other"; },
  };
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    Session wanted = wish();
    wishes[i](wanted);
    EXPECT_FALSE(spares().adopt(wanted, 1000).value()) << i;
  }
  EXPECT_EQ(adopted_by(wish()), spare.id) << "it is there for the next";
}

TEST_F(SparePoolTest, ARefusedRequestLeavesTheSpareSessionToTheNext) {
  const Session spare = filled();
  kept([](Session& wanted) { wanted.name = "taken"; });
  Session wanted = wish();
  wanted.name = "taken";
  EXPECT_EQ(spares().adopt(wanted, 1000).error().kind, Kind::kConflict);
  EXPECT_EQ(adopted_by(wish()), spare.id);
}

TEST_F(SparePoolTest, OneThatDoesNotAnswerIsGivenToNobodyAndEnds) {
  const Session spare = filled();
  answer_boxes([silent = spare.id](const std::string& id, const std::string& call) {
    return id == silent && call == "status"
               ? base::Status(base::error(Kind::kUnavailable, "it is silent"))
               : base::done();
  });
  sandbox_.set_alive(spare.id, false);
  EXPECT_NE(adopted_by(wish()), spare.id);
  EXPECT_TRUE(wait_until(kLong, [&] { return !store_->sessions.is_on_record(spare.id).value(); }));
  EXPECT_FALSE(std::filesystem::exists(directory_of(spare)));
}

TEST_F(SparePoolTest, OneThatAnotherServerHasWithdrawnIsGivenToNobody) {
  const Session spare = filled();
  ASSERT_TRUE(store_->spares.withdraw(spare.id, "its server is gone").value());
  EXPECT_NE(adopted_by(wish()), spare.id);
  EXPECT_TRUE(wait_until(kLong, [&] { return !store_->sessions.is_on_record(spare.id).value(); }));
}

TEST_F(SparePoolTest, AtTheEndGoesWhatNobodyHasAskedFor) {
  filled();
  const Session adopted = spares().adopt(wish(), 1000).value().value();
  wait_for_spare();
  const Session spare = spare_rows().at(0);
  spares().stop();
  EXPECT_FALSE(store_->sessions.is_on_record(spare.id).value());
  EXPECT_FALSE(std::filesystem::exists(directory_of(spare)));
  EXPECT_TRUE(store_->sessions.is_live(adopted.id).value());
  EXPECT_FALSE(spares().adopt(wish(), 1000).value());
}

TEST_F(SparePoolTest, NothingIsLeftOfOneThatDoesNotStart) {
  const auto tried = std::make_shared<std::atomic<int>>(0);  // who fills the pool may outlive it
  answer_boxes([tried](const std::string&, const std::string& call) {
    if (call != "start") return base::done();
    ++*tried;
    return base::Status(base::error(Kind::kInternal, "mount /proc: no"));
  });
  ASSERT_TRUE(spares().start().ok());
  EXPECT_TRUE(wait_until(kLong, [&] {
    return *tried == 1 && spare_rows().empty() &&
           store_->session_lists.unburied().value().empty() &&
           std::filesystem::is_empty(directory_ + "/sessions");
  }));
  EXPECT_FALSE(spares().adopt(wish(), 1000).value());
}

TEST_F(SparePoolTest, TheBoxIsToldWithWhatItsNewSessionEnds) {
  const Session spare = filled();
  Session wanted = wish();
  wanted.ends_with_connection = true;
  wanted.lifetime_seconds = 60;
  ASSERT_EQ(adopted_by(wanted), spare.id);
  EXPECT_EQ(calls("end_with_connection", spare.id), 1);
  EXPECT_EQ(calls("taken", spare.id), 0);
  EXPECT_EQ(calls("set_lifetime", spare.id), 1);
}

TEST_F(SparePoolTest, ASweepEndsOnlyAnOldOneThatNobodyHas) {
  ASSERT_TRUE(store_->spares.ensure_principal().ok());
  const Session young = left_behind(0);
  const Session lives = left_behind(61'000);
  const Session left = left_behind(61'000);
  sandbox_.set_alive(lives.id, true);
  for (const Session& session : {young, lives, left}) spares().sweep(session);
  EXPECT_TRUE(store_->sessions.is_live(young.id).value());
  EXPECT_TRUE(store_->sessions.is_live(lives.id).value());
  EXPECT_FALSE(store_->sessions.is_on_record(left.id).value());
  EXPECT_FALSE(std::filesystem::exists(directory_of(left)));
}

}  // namespace
}  // namespace sessions
