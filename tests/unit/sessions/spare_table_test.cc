// Sessions that are made ahead of need, in the database.
#include "sessions/spare_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sessions/audit_table.h"
#include "sessions/run_table.h"
#include "sessions/session.h"
#include "sessions/session_lists.h"
#include "sessions/session_table.h"
#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

using Kind = base::Error::Kind;

class SpareTableTest : public testing::StoreFixture {
 protected:
  // Makes one that nobody has.
  Session spare(SessionStatus status = SessionStatus::kProvisioning) {
    EXPECT_TRUE(store_->spares.ensure_principal().ok());
    return created_as([status](Session& wanted) {
      wanted.principal_id = kSparePrincipal;
      wanted.status = status;
    });
  }
};

TEST_F(SpareTableTest, ASpareSessionBecomesWhatIsWanted) {
  ASSERT_TRUE(store_->spares.ensure_principal().ok());
  const Session spare = store_->sessions.create(session("", kSparePrincipal), kIds, 1000).value();
  EXPECT_TRUE(store_->session_lists.newest_used(10).value().empty()) << "it is nobody's yet";
  expect_of_e2b(store_->spares.adopt(spare.id, session_of_e2b(), 1000).value());
  EXPECT_EQ(store_->session_lists.newest_used(10).value(), std::vector<std::string>{spare.id});
}

TEST_F(SpareTableTest, ASpareSessionIsAdoptedOnce) {
  ASSERT_TRUE(store_->spares.ensure_principal().ok());
  ASSERT_TRUE(store_->spares.ensure_principal().ok());
  const Session spare = store_->sessions.create(session("", kSparePrincipal), kIds, 1000).value();
  EXPECT_EQ(store_->sessions.find(principal_, spare.id).error().kind, Kind::kNotFound);
  EXPECT_TRUE(store_->runs.counts().value().sessions.empty());
  Session wanted = session("mine");
  wanted.ends_with_connection = true;
  const Session adopted = store_->spares.adopt(spare.id, wanted, 1000).value();
  EXPECT_EQ(adopted.id, spare.id);
  EXPECT_EQ(adopted.host_uid, spare.host_uid);
  EXPECT_EQ(adopted.principal_id, principal_);
  EXPECT_EQ(adopted.name, "mine");
  EXPECT_TRUE(adopted.ends_with_connection);
  EXPECT_EQ(adopted.created_at, wanted.created_at);
  EXPECT_EQ(store_->sessions.find(principal_, "mine").value().id, spare.id);
  EXPECT_EQ(store_->spares.adopt(spare.id, session(), 1000).error().kind, Kind::kNotFound);
  EXPECT_FALSE(store_->spares.withdraw(spare.id, "why").value()) << "somebody has it";
  EXPECT_EQ(store_->audit.of_session(spare.id, 100).value().back().principal_id, principal_);
}

TEST_F(SpareTableTest, AnAdoptedSessionHasTheTimesAndTheWordsOfWhoeverAsked) {
  const Session made = spare(SessionStatus::kReady);
  Session wanted = session();
  wanted.created_at = wanted.last_used_at = made.created_at + 7;
  wanted.unasked = true;
  wanted.lifetime_seconds = 60;
  wanted.metadata = {{"team", "red"}};
  wanted.boot_id = "boot";
  wanted.boot_offset_ms = 5;
  wanted.connection_server = "server";
  const Session adopted = store_->spares.adopt(made.id, wanted, 1000).value();
  EXPECT_EQ(adopted.created_at, made.created_at + 7);
  EXPECT_EQ(adopted.last_used_at, made.created_at + 7);
  EXPECT_TRUE(adopted.unasked);
  EXPECT_EQ(adopted.lifetime_seconds, 60);
  EXPECT_EQ(adopted.metadata, wanted.metadata);
  EXPECT_EQ(adopted.boot_id, "boot");
  EXPECT_EQ(adopted.boot_offset_ms, 5);
  EXPECT_EQ(adopted.connection_server, "server");
  EXPECT_EQ(adopted.status, SessionStatus::kReady) << "its box is up";
  EXPECT_EQ(row_of(adopted).lifetime_seconds, 60);
}

TEST_F(SpareTableTest, ARefusedAdoptionLeavesTheSpareSession) {
  ASSERT_TRUE(store_->spares.ensure_principal().ok());
  const Session spare = store_->sessions.create(session("", kSparePrincipal), kIds, 1000).value();
  created("taken");
  EXPECT_EQ(store_->spares.adopt(spare.id, session("taken"), 1000).error().kind, Kind::kConflict);
  EXPECT_EQ(store_->spares.adopt(spare.id, session(), 1).error().kind, Kind::kLimit);
  EXPECT_TRUE(store_->sessions.find(kSparePrincipal, spare.id).ok());
  EXPECT_TRUE(store_->spares.withdraw(spare.id, "why").value());
  EXPECT_EQ(store_->spares.adopt(spare.id, session(), 1000).error().kind, Kind::kNotFound);
  EXPECT_FALSE(store_->sessions.set_status(spare.id, SessionStatus::kReady, "").value())
      << "it stays withdrawn";
}

TEST_F(SpareTableTest, NobodyGetsOneThatFailedOrThatIsNoneOrMoreThanTheyMayKeep) {
  const Session failed = spare(SessionStatus::kError);
  const Session good = spare();
  const Session theirs = created_by("other");
  for (const std::string& id : {failed.id, theirs.id, std::string("nobody")}) {
    EXPECT_EQ(store_->spares.adopt(id, session(), 1000).error().kind, Kind::kNotFound) << id;
  }
  created();
  EXPECT_EQ(store_->spares.adopt(good.id, session(), {1000, 1}).error().kind, Kind::kLimit);
  EXPECT_EQ(store_->audit.of_session(good.id, 10).value().size(), 1U) << "that it was made";
  EXPECT_TRUE(store_->spares.adopt(good.id, session(), {1000, 2}).ok());
}

TEST_F(SpareTableTest, OnlyASpareSessionIsWithdrawnAndOnce) {
  const Session made = spare();
  const Session mine = created();
  EXPECT_FALSE(store_->spares.withdraw("nobody", "why").value());
  EXPECT_FALSE(store_->spares.withdraw(mine.id, "why").value());
  EXPECT_TRUE(store_->sessions.is_live(mine.id).value());
  EXPECT_TRUE(store_->spares.withdraw(made.id, "it is old").value());
  EXPECT_FALSE(store_->spares.withdraw(made.id, "again").value());
  EXPECT_EQ(row_of(made).status, SessionStatus::kDestroyed);
  EXPECT_EQ(row_of(made).error, "it is old");
  EXPECT_TRUE(row_of(made).ended_at);
}

TEST_F(SpareTableTest, NothingIsKeptOfOneThatNobodyHad) {
  ASSERT_TRUE(store_->spares.ensure_principal().ok());
  const Session spare = store_->sessions.create(session("", kSparePrincipal), kIds, 1000).value();
  const Session adopted = store_->sessions.create(session("", kSparePrincipal), kIds, 1000).value();
  ASSERT_TRUE(store_->spares.adopt(adopted.id, session(), 1000).ok());
  ASSERT_TRUE(store_->spares.withdraw(spare.id, "why").value());
  ASSERT_TRUE(store_->sessions.set_status(adopted.id, SessionStatus::kDestroyed, "").value());
  for (const Session& ended : {spare, adopted}) EXPECT_TRUE(store_->spares.forget(ended.id).ok());
  EXPECT_EQ(store_->sessions.find(kSparePrincipal, spare.id).error().kind, Kind::kNotFound);
  EXPECT_TRUE(store_->audit.of_session(spare.id, 100).value().empty());
  EXPECT_EQ(store_->sessions.find(principal_, adopted.id).value().status,
            SessionStatus::kDestroyed);
}

TEST_F(SpareTableTest, OneThatWasNotWithdrawnIsNotForgotten) {
  const Session made = spare();
  EXPECT_TRUE(store_->spares.forget(made.id).ok());
  EXPECT_TRUE(store_->sessions.is_live(made.id).value());
}

TEST_F(SpareTableTest, TheAuditOfOthersOutlivesOneThatIsForgotten) {
  const Session gone = spare();
  const Session stays = spare();
  const Session adopted = spare();
  ASSERT_TRUE(store_->spares.adopt(adopted.id, session(), 1000).ok());
  ASSERT_TRUE(store_->spares.withdraw(gone.id, "why").value());
  for (const Session& one : {gone, adopted}) ASSERT_TRUE(store_->spares.forget(one.id).ok());
  EXPECT_TRUE(store_->audit.of_session(gone.id, 10).value().empty());
  EXPECT_EQ(store_->audit.of_session(stays.id, 10).value().size(), 1U);
  EXPECT_EQ(store_->audit.of_session(adopted.id, 10).value().size(), 1U) << "that it was adopted";
}

}  // namespace
}  // namespace sessions
