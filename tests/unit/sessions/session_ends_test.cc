// A session that ends is gone by its row first, and nothing of it is left that nobody will remove.
#include "sessions/principal_table.h"
#include "sessions/run_table.h"
#include "sessions/session.h"
#include "sessions/session_ends.h"
#include "sessions/session_lists.h"
#include "sessions/session_table.h"
#include "sessions/spare_table.h"
#include "sessions/upkeep_table.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "sessions/patience.h"
#include "sessions/store.h"
#include "tests/unit/sessions/services_fixture.h"

namespace sessions {
namespace {

namespace fs = std::filesystem;
using Kind = base::Error::Kind;

class SessionEndsTest : public testing::ServicesFixture {
 protected:
  SessionEnds& ends() { return parts().ends; }
  bool delete_if_nothing(const Session& session) {
    return ends().delete_if_nothing(session, "there was nothing in it");
  }
};

TEST_F(SessionEndsTest, NothingIsLeftOfASessionThatEnds) {
  const Session session = running();
  std::ofstream(directory_of(session) + "/workspace/file") << "x";
  parts().connections.add_owned("connection", session.id);
  ASSERT_TRUE(ends().end(session, "why").ok());
  EXPECT_EQ(status_of(session), SessionStatus::kDestroyed);
  EXPECT_FALSE(fs::exists(directory_of(session)));
  EXPECT_EQ(calls("shutdown_for_good"), 1);
  EXPECT_TRUE(parts().connections.end("connection").empty());
  EXPECT_TRUE(store_->session_lists.unburied().value().empty());
}

TEST_F(SessionEndsTest, ABoxThatDoesNotEndIsLeftToALaterSweep) {
  const Session session = running();
  {
    const auto lock = held(session);
    EXPECT_EQ(ends().end(session, "why").error().kind, Kind::kUnavailable);
  }
  EXPECT_EQ(status_of(session), SessionStatus::kDestroyed) << "nobody starts it any more";
  EXPECT_TRUE(fs::exists(directory_of(session)));
  ASSERT_EQ(store_->session_lists.unburied().value().size(), 1U);
  EXPECT_TRUE(ends().bury(store_->session_lists.unburied().value()[0]).ok());
  EXPECT_FALSE(fs::exists(directory_of(session)));
  EXPECT_TRUE(store_->session_lists.unburied().value().empty());
}

TEST_F(SessionEndsTest, ABoxThatIsAboutToEndIsWaitedFor) {
  const Session session = running();
  std::optional<sandbox::SessionLock> boxes(held(session));
  const std::jthread box([&] {
    EXPECT_TRUE(wait_until(kEndPatience, [&] { return calls("shutdown_for_good") == 1; }));
    boxes.reset();
  });
  EXPECT_TRUE(ends().end(session, "why").ok());
  EXPECT_FALSE(fs::exists(directory_of(session)));
}

TEST_F(SessionEndsTest, ARunThatHasNotEndedIsCancelled) {
  const Session session = kept();
  const sessions::Run run = inserted(session);
  ASSERT_TRUE(ends().end(session, "why").ok());
  const sessions::Run ended = store_->runs.find(principal_, run.id).value();
  EXPECT_EQ(ended.status, "cancelled");
  EXPECT_FALSE(ended.was_read);
}

TEST_F(SessionEndsTest, TwoWhoEndItAtOnceLeaveNothingEither) {
  const Session session = running();
  {
    const std::jthread one([&] { EXPECT_TRUE(ends().end(session, "one").ok()); });
    const std::jthread other([&] { EXPECT_TRUE(ends().end(session, "other").ok()); });
  }
  EXPECT_FALSE(fs::exists(directory_of(session)));
  EXPECT_TRUE(store_->session_lists.unburied().value().empty());
}

TEST_F(SessionEndsTest, NoRowIsLeftOfASpareOne) {
  ASSERT_TRUE(store_->spares.ensure_principal().ok());
  const Session spare = kept([](Session& wanted) { wanted.principal_id = kSparePrincipal; });
  ASSERT_TRUE(store_->spares.withdraw(spare.id, "why").value());
  ASSERT_TRUE(ends().bury(spare).ok());
  EXPECT_FALSE(fs::exists(directory_of(spare)));
  EXPECT_FALSE(store_->sessions.is_on_record(spare.id).value());
}

TEST_F(SessionEndsTest, OneWhoseLifetimeIsOverGoesWhereTheClockCanBeBelieved) {
  const auto over = [](Session& wanted) {
    wanted.lifetime_seconds = 60;
    wanted.created_at -= 61'000;
  };
  const Session sure = kept(over);
  const Session unsure = kept([&](Session& wanted) {
    over(wanted);
    wanted.boot_id = "another start of the machine";
  });
  // Swept once, when the clock was a year behind; from now on it is not believed.
  Moment past = moment_now();
  past.now_ms -= 365LL * 86'400'000;
  ASSERT_TRUE(store_->upkeep.begin_sweep(past, past.uptime_ms, {}, 86400).ok());
  const base::Error gone = ends().end_of_lifetime(sure);
  const base::Error held_back = ends().end_of_lifetime(unsure);
  EXPECT_EQ(gone.kind, Kind::kNotFound);
  EXPECT_EQ(held_back.kind, Kind::kNotFound);
  EXPECT_NE(gone.message.find("it was deleted with its files"), std::string::npos) << gone.message;
  EXPECT_EQ(held_back.message.find("deleted"), std::string::npos) << held_back.message;
  EXPECT_NE(held_back.message.find("its files are kept for now"), std::string::npos)
      << held_back.message;
  EXPECT_EQ(status_of(sure), SessionStatus::kDestroyed);
  EXPECT_EQ(status_of(unsure), SessionStatus::kStopped);
  EXPECT_TRUE(fs::exists(directory_of(unsure)));
}

TEST_F(SessionEndsTest, ASessionIsLeftWhenTheServerOfItsConnectionIsGone) {
  Session session = kept();
  EXPECT_TRUE(ends().is_left(session)) << "it was never of one";
  session.connection_server = parts().ground.servers.own_id();
  EXPECT_FALSE(ends().is_left(session));
  session.connection_server = "server_of_old";
  EXPECT_TRUE(ends().is_left(session));
}

TEST_F(SessionEndsTest, AClientThatComesBackAfterARestartHasSomeTimeForThat) {
  Session session = kept();
  const std::string lasting = kLastingConnection;
  const std::string own = lasting + " " + parts().ground.servers.own_id();
  for (const std::string& gone : {lasting, lasting + " server_of_old"}) {
    session.connection_server = gone;
    session.last_used_at = base::now_ms();
    EXPECT_FALSE(ends().is_left(session)) << gone;
    session.last_used_at -= std::chrono::milliseconds(config_.clients_back_within).count() + 1000;
    EXPECT_TRUE(ends().is_left(session)) << gone;
    session.connection_server = own;
    EXPECT_FALSE(ends().is_left(session)) << "its server is there";
  }
  session.connection_server = lasting;
  Moment past = moment_now();
  past.now_ms -= 365LL * 86'400'000;
  ASSERT_TRUE(store_->upkeep.begin_sweep(past, past.uptime_ms, {}, 86400).ok());
  EXPECT_FALSE(ends().is_left(session)) << "by a clock that is not believed";
}

TEST_F(SessionEndsTest, AnEmptySessionOfALastingConnectionGoesOnceItsServerIsGone) {
  const auto of_server = [](const std::string& id) {
    return [id](Session& wanted) {
      wanted.ends_with_connection = true;
      wanted.connection_server = std::string(kLastingConnection) + " " + id;
      wanted.last_used_at -= 2LL * 3'600'000;
    };
  };
  const Session killed = kept(of_server("server_of_old"));
  const Session alive = kept(of_server(parts().ground.servers.own_id()));
  EXPECT_TRUE(delete_if_nothing(killed));
  EXPECT_FALSE(delete_if_nothing(alive));
}

// By the row of now, whatever the caller has seen.
TEST_F(SessionEndsTest, WhatSomebodyMayWantIsNotDeletedForBeingEmpty) {
  const std::string other = store_->principals.ensure("other").value();
  const auto making = [](Session& wanted) { wanted.status = SessionStatus::kProvisioning; };
  const auto marked = [](Session& wanted) { wanted.metadata = {{"a", "b"}}; };
  EXPECT_FALSE(delete_if_nothing(kept(making))) << "it is being made";
  EXPECT_FALSE(delete_if_nothing(kept(marked))) << "its client finds it by that";
  Session adopted = kept();
  adopted.principal_id = other;
  EXPECT_FALSE(delete_if_nothing(adopted)) << "it is another's by now";
  Session known = kept([](Session& wanted) { wanted.name = "mine"; });
  known.name.reset();
  EXPECT_FALSE(delete_if_nothing(known)) << "it has got a name";
  EXPECT_EQ(store_->session_lists.live().value().size(), 4U);
  const Session empty = kept();
  EXPECT_TRUE(delete_if_nothing(empty));
  EXPECT_FALSE(delete_if_nothing(empty)) << "it was deleted before";
  EXPECT_FALSE(fs::exists(directory_of(empty)));
}

}  // namespace
}  // namespace sessions
