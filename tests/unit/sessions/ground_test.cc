// Tests what most services stand on: whose a session's directory is, how a new session begins, and
// who hears of a start.
#include "sessions/ground.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "sessions/moment.h"
#include "sessions/readiness.h"
#include "sessions/session_directory.h"
#include "tests/unit/sessions/services_fixture.h"

namespace sessions {
namespace {

class GroundTest : public testing::ServicesFixture {
 protected:
  using Kind = base::Error::Kind;

  Ground& ground() { return parts().ground; }
};

TEST_F(GroundTest, ADirectoryHasOneOwnerAtATime) {
  {
    const auto owned = ground().own("session_1");
    ASSERT_TRUE(owned.ok()) << owned.error().message;
    EXPECT_TRUE(std::filesystem::is_directory(ground().files_of("session_1").path()));
    const auto again = ground().own("session_1");
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().kind, Kind::kConflict);
    EXPECT_TRUE(ground().own("session_2").ok()) << "another session";
  }
  EXPECT_TRUE(ground().own("session_1").ok());
}

TEST_F(GroundTest, WhereNoDirectoryCanBeMadeNothingIsOwned) {
  std::filesystem::remove_all(directory_ + "/sessions");
  const auto owned = ground().own("session_1");
  ASSERT_FALSE(owned.ok());
  EXPECT_EQ(owned.error().kind, Kind::kUnavailable);
}

TEST_F(GroundTest, AnOwnerThatEndsSoonIsWaitedFor) {
  auto owned = std::make_unique<sandbox::SessionLock>(ground().own("session_1").value());
  std::jthread ending([&owned] { owned.reset(); });
  EXPECT_TRUE(ground().own_soon("session_1").ok());
}

TEST_F(GroundTest, ABoxIsAnOwnerEvenIfItDoesNotAnswer) {
  const Session session = running();
  EXPECT_TRUE(ground().is_owned(session.id));
  sandbox_.set_alive(session.id, false);
  EXPECT_FALSE(ground().is_owned(session.id));
}

TEST_F(GroundTest, ANewSessionHasWhatIsInForceNowAndNoRow) {
  sandbox::Limits limits;
  limits.memory_mb = 222;
  Quotas quotas = ground().quotas.now();
  quotas.idle_seconds = 77;
  quotas.retention_seconds = 7777;
  ground().quotas.change(quotas);
  const Moment before = moment_now();
  const Session made = ground().new_session(principal_, limits);
  EXPECT_NE(made.id, ground().new_session(principal_, limits).id);
  EXPECT_TRUE(made.id.starts_with("session_"));
  EXPECT_EQ(made.principal_id, principal_);
  EXPECT_EQ(made.limits.memory_mb, 222);
  EXPECT_EQ(made.idle_seconds, 77);
  EXPECT_EQ(made.retention_seconds, 7777);
  EXPECT_GE(made.created_at, before.now_ms);
  EXPECT_EQ(made.last_used_at, made.created_at);
  EXPECT_EQ(made.boot_id, before.boot_id);
  EXPECT_FALSE(store_->sessions.find(principal_, made.id).ok());
}

TEST_F(GroundTest, AStartThatFailsByTheHostIsToldAndTheCallersFaultIsNot) {
  config_.readiness = std::make_shared<Readiness>();
  const Session session = kept();
  const auto callers = base::error(Kind::kInvalid, "a wish that cannot be");
  ground().note_start(session, &callers);
  EXPECT_TRUE(notices().empty());
  EXPECT_TRUE(config_.readiness->look().trouble.empty());
  const auto hosts = base::error(Kind::kInternal, "no namespaces");
  ground().note_start(session, &hosts);
  ASSERT_EQ(notices().size(), 1U);
  EXPECT_EQ(notices()[0].level, Notice::Level::kFailure);
  EXPECT_EQ(notices()[0].session_id, session.id);
  EXPECT_NE(notices()[0].message.find("no namespaces"), std::string::npos);
  EXPECT_FALSE(config_.readiness->look().trouble.empty());
  ground().note_start(session, nullptr);
  EXPECT_TRUE(config_.readiness->look().trouble.empty());
}

}  // namespace
}  // namespace sessions
