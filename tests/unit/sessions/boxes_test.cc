// A box is found where it lives, and else started, once, for a session that is there.
#include "sessions/boxes.h"
#include "sessions/session_table.h"
#include "sessions/sqlite.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "sessions/store.h"
#include "tests/unit/sessions/services_fixture.h"

namespace sessions {
namespace {

using Kind = base::Error::Kind;

class BoxesTest : public testing::ServicesFixture {
 protected:
  Boxes& boxes() { return parts().boxes; }
};

TEST_F(BoxesTest, OneBoxIsStartedHoweverManyAskAtOnce) {
  const Session session = kept();
  std::vector<std::shared_ptr<sandbox::Box>> found(8);
  {
    std::vector<std::jthread> clients;
    for (auto& box : found) {
      clients.emplace_back([&] { box = boxes().box_of(session).value(); });
    }
  }
  EXPECT_EQ(calls("start"), 1);
  EXPECT_EQ(std::set(found.begin(), found.end()).size(), 1U);
}

TEST_F(BoxesTest, AStartThatFailsLeavesTheRowAsItWas) {
  const Session session = kept();
  fail_call("start", Kind::kInternal);
  EXPECT_EQ(boxes().box_of(session).error().kind, Kind::kInternal);
  EXPECT_EQ(status_of(session), SessionStatus::kStopped);
  EXPECT_EQ(calls("sweep"), 2) << "before the start, and of what that has made";
  ASSERT_EQ(notices().size(), 1U);
  EXPECT_EQ(notices()[0].level, Notice::Level::kFailure);
  EXPECT_EQ(notices()[0].session_id, session.id);
  answer_with({});
  EXPECT_TRUE(boxes().box_of(session).ok());
  EXPECT_EQ(status_of(session), SessionStatus::kReady);
}

TEST_F(BoxesTest, NothingIsSweptBeforeTheFirstBoxOfASession) {
  const Session session = kept();
  for (const char* part : {"/workspace", "/home", "/tmp", "/runs"}) {
    std::filesystem::remove_all(directory_of(session) + part);
  }
  EXPECT_TRUE(boxes().box_of(session).ok());
  EXPECT_EQ(calls("start"), 1);
  EXPECT_EQ(calls("sweep"), 0);
}

TEST_F(BoxesTest, AStepBesideTheLaunchThatMeetsALimitOfTheMachineSaysSo) {
  const Session session = kept();
  answer_with([](const std::string&, const std::string& call) -> base::Status {
    if (call != "start") return base::done();
    return base::Error{Kind::kUnavailable, EMFILE, "socket: Too many open files"};
  });
  const auto refused = boxes().box_of(session);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, Kind::kCapacity);
  EXPECT_NE(refused.error().message.find("(socket: Too many open files); try again in "),
            std::string::npos)
      << refused.error().message;
  EXPECT_EQ(status_of(session), SessionStatus::kStopped);
  ASSERT_EQ(notices().size(), 1U);
}

TEST_F(BoxesTest, NoBoxStartsForADeletedOrDamagedSessionWhateverTheCallerHasSeen) {
  const Session known = kept();
  ASSERT_TRUE(store_->sessions.set_status(known.id, SessionStatus::kDestroyed, "").value());
  EXPECT_EQ(boxes().box_of(known).error().kind, Kind::kNotFound);
  EXPECT_EQ(boxes().box_of(row_of(known)).error().kind, Kind::kNotFound);
  const Session damaged = kept();
  const auto database = Database::open(path()).value();
  ASSERT_TRUE(database->execute("UPDATE sessions SET limits = 'x'").ok());
  const auto refused = boxes().box_of(damaged);
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(refused.error().message.starts_with(damaged.id + ": sessions.limits"))
      << refused.error().message;
  EXPECT_EQ(calls("start"), 0);
}

TEST_F(BoxesTest, ABoxWhoseSessionIsDeletedDuringItsStartIsEnded) {
  const Session session = kept();
  answer_with([&](const std::string& id, const std::string& call) {
    if (call == "start") {
      EXPECT_TRUE(store_->sessions.set_status(id, SessionStatus::kDestroyed, "").value());
    }
    return base::done();
  });
  EXPECT_EQ(boxes().box_of(session).error().kind, Kind::kNotFound);
  EXPECT_EQ(calls("start"), 1);
  EXPECT_EQ(calls("shutdown"), 1);
  EXPECT_EQ(status_of(session), SessionStatus::kDestroyed);
}

TEST_F(BoxesTest, ABoxOfAnotherVersionIsLeftAlone) {
  const Session session = kept();
  fail_call("find", Kind::kUnsupported);
  EXPECT_EQ(boxes().box_of(session).error().kind, Kind::kUnsupported);
  EXPECT_EQ(calls("start") + calls("sweep"), 0);
}

TEST_F(BoxesTest, NoBoxStartsWhileAnotherServerHasTheSession) {
  const Session session = kept();
  std::optional<sandbox::SessionLock> others(held(session));
  std::atomic<int> looks = 0;
  answer_with([&](const std::string&, const std::string& call) {
    if (call == "find" && ++looks == 4) others.reset();
    EXPECT_FALSE(call == "start" && others);
    return base::done();
  });
  EXPECT_TRUE(boxes().box_of(session).ok());
  EXPECT_EQ(calls("start"), 1);
  EXPECT_TRUE(notices().empty()) << "nobody's failure";
}

TEST_F(BoxesTest, ABoxThatEndsWhileItIsLookedAtMakesRoomForAnother) {
  config_.folders.decides = true;
  const Session session = running();
  parts().grants.forget(session.id);  // as another server, which has not looked at it yet
  answer_with([&](const std::string& id, const std::string& call) -> base::Status {
    if (call != "status") return base::done();
    answer_with({});
    sandbox_.set_alive(id, false);
    sandbox_.let_go(id);
    return base::error(Kind::kUnavailable, "it has ended");
  });
  EXPECT_TRUE(boxes().box_of(session).ok());
  EXPECT_EQ(calls("start"), 2);
  parts().grants.forget(session.id);
  fail_call("status", Kind::kInternal);
  EXPECT_EQ(boxes().box_of(session).error().kind, Kind::kInternal) << "which says why";
}

TEST_F(BoxesTest, ACallThatMeetsADeadBoxIsMadeAgainWithANewOne) {
  const Session session = running();
  sandbox_.set_alive(session.id, false);
  int asked = 0;
  const auto fail_until = [&](int count, Kind kind) {
    asked = 0;
    return boxes().with_live_box(session, [&, count, kind](sandbox::Box&) {
      if (++asked == count) return base::done();
      if (kind == Kind::kUnavailable) sandbox_.let_go(session.id);
      return base::Status(base::error(kind, "dead"));
    });
  };
  EXPECT_TRUE(fail_until(3, Kind::kUnavailable).ok());
  EXPECT_EQ(calls("start"), 3) << "the first one, and two more";
  EXPECT_EQ(fail_until(4, Kind::kUnavailable).error().kind, Kind::kUnavailable);
  EXPECT_EQ(asked, 3) << "not for ever";
  EXPECT_EQ(fail_until(2, Kind::kConflict).error().kind, Kind::kConflict);
  EXPECT_EQ(asked, 1) << "that is an answer";
}

TEST_F(BoxesTest, NothingStartsForWhoOnlyLooks) {
  const Session session = kept();
  EXPECT_EQ(boxes().look_at_root(session).error().kind, Kind::kNotFound);
  EXPECT_EQ(boxes().live_status(session).error().kind, Kind::kNotFound);
  EXPECT_EQ(boxes().end_context(session, "python-1").error().kind, Kind::kNotFound);
  EXPECT_EQ(boxes().connect(session, 8000).error().message,
            "the session does not run, so nothing listens on port 8000");
  EXPECT_TRUE(boxes().restart(session).ok()) << "there is nothing to end";
  boxes().keep_awake(session);
  EXPECT_EQ(calls("start"), 0);
  EXPECT_EQ(status_of(session), SessionStatus::kStopped);
}

TEST_F(BoxesTest, AFileWaitsForTheRoomThatADeletionMakes) {
  const Session session = running();
  std::atomic<int> asked = 0;
  answer_with([&](const std::string&, const std::string& call) {
    if (call != "take_disk_room" || ++asked == 3) return base::done();
    return base::Status(base::error(Kind::kLimit, "it would not fit"));
  });
  EXPECT_TRUE(boxes().take_disk_room(session, 1).ok());
  EXPECT_EQ(asked, 3);
  boxes().disk_written(session, 1);
  EXPECT_EQ(calls("disk_written"), 1);
  fail_call("take_disk_room", Kind::kInternal);
  EXPECT_EQ(boxes().take_disk_room(session, 1).error().kind, Kind::kInternal);
  EXPECT_EQ(calls("take_disk_room"), 4) << "nothing to wait for";
}

}  // namespace
}  // namespace sessions
