// Sessions give way to others of their principal only where that loses nothing.
#include "sessions/session.h"
#include "sessions/session_room.h"
#include "sessions/spare_table.h"
#include "sessions/sqlite.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "sessions/store.h"
#include "tests/unit/sessions/services_fixture.h"

namespace sessions {
namespace {

using Kind = base::Error::Kind;

class SessionRoomTest : public testing::ServicesFixture {
 protected:
  SessionRoomTest() { config_.sessions_max = 2; }

  SessionRoom& room() { return parts().room; }
  // Makes one of a connection that has ended, which nobody is attached to.
  Session left(bool attached = false, const std::string& name = "") {
    const Session session = running([&name](Session& wanted) {
      wanted.ends_with_connection = true;
      if (!name.empty()) wanted.name = name;
    });
    sandbox::BoxStatus status;
    status.attached = attached;
    say(session, status);
    return session;
  }
  // Makes ten that were used one after the other.
  std::vector<Session> ten_unasked() {
    std::vector<Session> made;
    for (int i = 0; i < 10; ++i) {
      made.push_back(kept([i](Session& wanted) {
        wanted.unasked = true;
        wanted.status = SessionStatus::kReady;
        wanted.last_used_at -= 1000 - i;
      }));
      EXPECT_TRUE(parts().boxes.box_of(made.back()).ok());
      sandbox_.set_alive(made.back().id, true);
    }
    return made;
  }
};

TEST_F(SessionRoomTest, AnIdleBoxThatNobodyComesBackToGivesWay) {
  const Session attached = left(true);
  const Session idle = left();
  EXPECT_TRUE(room().claim_box(kept()).value());
  EXPECT_EQ(status_of(idle), SessionStatus::kStopped);
  EXPECT_EQ(status_of(attached), SessionStatus::kReady);
  EXPECT_EQ(calls("shutdown_if_idle"), 1);
  EXPECT_EQ(calls("shutdown_if_idle", idle.id), 1);
}

TEST_F(SessionRoomTest, NoneGivesWayThatIsAtWorkOrNamedOrWhoseClientIsThere) {
  const Session busy = left();
  say_busy(busy);
  const Session named = left(false, "named");
  const Session asking = kept();
  const auto refused = room().claim_box(asking);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, Kind::kLimit);
  EXPECT_TRUE(refused.error().message.ends_with(": " + busy.id + ", named"))
      << refused.error().message;
  EXPECT_EQ(calls("shutdown_if_idle"), 0);
  EXPECT_EQ(status_of(asking), SessionStatus::kStopped);
}

TEST_F(SessionRoomTest, ABoxThatIsBeingMadeKeepsItsPlaceForAMinute) {
  config_.sessions_max = 1;
  const Session making =
      kept([](Session& wanted) { wanted.status = SessionStatus::kProvisioning; });
  EXPECT_EQ(room().claim_box(kept()).error().kind, Kind::kLimit);
  const auto database = Database::open(path()).value();
  ASSERT_TRUE(database
                  ->execute("UPDATE sessions SET last_used_at = last_used_at - 61000 "
                            "WHERE status = 'provisioning'")
                  .ok());
  EXPECT_TRUE(room().claim_box(kept()).value());
  EXPECT_EQ(status_of(making), SessionStatus::kStopped);
}

TEST_F(SessionRoomTest, ASpareSessionTakesNobodysRoom) {
  config_.sessions_max = 0;
  ASSERT_TRUE(store_->spares.ensure_principal().ok());
  const Session spare = kept([](Session& wanted) { wanted.principal_id = kSparePrincipal; });
  EXPECT_FALSE(room().claim_box(spare).value());
  EXPECT_EQ(status_of(spare), SessionStatus::kStopped) << "it is not counted";
}

TEST_F(SessionRoomTest, ARowIsAskedForAgainOnlyWhileItIsAMatterOfRoom) {
  int asked = 0;
  const auto ask = [&](const base::Error& refusal) {
    asked = 0;
    return room()
        .take_row(principal_,
                  [&]() -> base::Result<Session> {
                    ++asked;
                    return refusal;
                  })
        .error();
  };
  EXPECT_EQ(ask(base::error(Kind::kConflict, "taken")).message, "taken");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(ask(base::error(Kind::kLimit, "full")).message, "full") << "there are none to name";
  EXPECT_EQ(asked, 4) << "others take what is made, but not for ever";
}

TEST_F(SessionRoomTest, OfAFullDiskNobodyIsNamed) {
  kept();
  base::Error full = base::error(Kind::kLimit, "no room on the disk");
  const auto refused = [&] {
    return room().take_row(principal_, [&]() -> base::Result<Session> { return full; }).error();
  };
  EXPECT_NE(refused().message, "no room on the disk");
  full.os_errno = ENOSPC;
  EXPECT_EQ(refused().message, "no room on the disk");
}

TEST_F(SessionRoomTest, OfTenUnaskedTheOneUnusedForLongestGivesWay) {
  config_.sessions_max = 100;
  const auto sessions = ten_unasked();
  say_busy(sessions[0]);
  // A run has come to it since it was asked.
  answer_with([&](const std::string& id, const std::string& call) {
    return call == "shutdown_if_idle" && id == sessions[1].id
               ? base::Status(base::error(Kind::kConflict, "it is at work"))
               : base::done();
  });
  EXPECT_TRUE(room().make_room_for_unasked(principal_).ok());
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    EXPECT_EQ(status_of(sessions[i]), i == 2 ? SessionStatus::kStopped : SessionStatus::kReady)
        << i;
  }
  EXPECT_EQ(calls("shutdown_if_idle", sessions[0].id), 0);
  EXPECT_TRUE(room().make_room_for_unasked(principal_).ok());
  EXPECT_EQ(calls("shutdown_if_idle"), 2) << "nine leave room for one more";
}

TEST_F(SessionRoomTest, TenUnaskedAtWorkAreNamedToWhoAsksForAnother) {
  config_.sessions_max = 100;
  const auto sessions = ten_unasked();
  for (const Session& session : sessions) say_busy(session);
  const auto refused = room().make_room_for_unasked(principal_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, Kind::kLimit);
  for (const Session& session : sessions) {
    EXPECT_NE(refused.error().message.find(session.id), std::string::npos);
    EXPECT_EQ(status_of(session), SessionStatus::kReady);
  }
}

}  // namespace
}  // namespace sessions
