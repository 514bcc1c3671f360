// Sessions that are made ahead of need, in the database.
#include "tests/unit/sessions/store_fixture.h"

namespace {

using namespace sessions;
using Kind = base::Error::Kind;

using SparesTest = sessions::testing::StoreFixture;

TEST_F(SparesTest, ASpareSessionBecomesWhatIsWanted) {
  ASSERT_TRUE(store_->ensure_spare_principal().ok());
  const Session spare = store_->create_session(session("", kSparePrincipal), kIds, 1000).value();
  EXPECT_TRUE(store_->newest_used_sessions(10).value().empty()) << "it is nobody's yet";
  expect_of_e2b(store_->adopt_session(spare.id, session_of_e2b(), 1000).value());
  EXPECT_EQ(store_->newest_used_sessions(10).value(), std::vector<std::string>{spare.id});
}

TEST_F(SparesTest, ASpareSessionIsAdoptedOnce) {
  ASSERT_TRUE(store_->ensure_spare_principal().ok());
  ASSERT_TRUE(store_->ensure_spare_principal().ok());
  const Session spare = store_->create_session(session("", kSparePrincipal), kIds, 1000).value();
  EXPECT_EQ(store_->find_session(principal_, spare.id).error().kind, Kind::kNotFound);
  EXPECT_TRUE(store_->counts().value().sessions.empty());
  Session wanted = session("mine");
  wanted.ends_with_connection = true;
  const Session adopted = store_->adopt_session(spare.id, wanted, 1000).value();
  EXPECT_EQ(adopted.id, spare.id);
  EXPECT_EQ(adopted.host_uid, spare.host_uid);
  EXPECT_EQ(adopted.principal_id, principal_);
  EXPECT_EQ(adopted.name, "mine");
  EXPECT_TRUE(adopted.ends_with_connection);
  EXPECT_EQ(adopted.created_at, wanted.created_at);
  EXPECT_EQ(store_->find_session(principal_, "mine").value().id, spare.id);
  EXPECT_EQ(store_->adopt_session(spare.id, session(), 1000).error().kind, Kind::kNotFound);
  EXPECT_FALSE(store_->withdraw_spare(spare.id, "why").value()) << "somebody has it";
  EXPECT_EQ(store_->audit_of_session(spare.id, 100).value().back().principal_id, principal_);
}

TEST_F(SparesTest, ARefusedAdoptionLeavesTheSpareSession) {
  ASSERT_TRUE(store_->ensure_spare_principal().ok());
  const Session spare = store_->create_session(session("", kSparePrincipal), kIds, 1000).value();
  created("taken");
  EXPECT_EQ(store_->adopt_session(spare.id, session("taken"), 1000).error().kind, Kind::kConflict);
  EXPECT_EQ(store_->adopt_session(spare.id, session(), 1).error().kind, Kind::kLimit);
  EXPECT_TRUE(store_->find_session(kSparePrincipal, spare.id).ok());
  EXPECT_TRUE(store_->withdraw_spare(spare.id, "why").value());
  EXPECT_EQ(store_->adopt_session(spare.id, session(), 1000).error().kind, Kind::kNotFound);
  EXPECT_FALSE(store_->set_session_status(spare.id, SessionStatus::kReady, "").value())
      << "it stays withdrawn";
}

TEST_F(SparesTest, NothingIsKeptOfOneThatNobodyHad) {
  ASSERT_TRUE(store_->ensure_spare_principal().ok());
  const Session spare = store_->create_session(session("", kSparePrincipal), kIds, 1000).value();
  const Session adopted = store_->create_session(session("", kSparePrincipal), kIds, 1000).value();
  ASSERT_TRUE(store_->adopt_session(adopted.id, session(), 1000).ok());
  ASSERT_TRUE(store_->withdraw_spare(spare.id, "why").value());
  ASSERT_TRUE(store_->set_session_status(adopted.id, SessionStatus::kDestroyed, "").value());
  for (const Session& ended : {spare, adopted}) EXPECT_TRUE(store_->forget_spare(ended.id).ok());
  EXPECT_EQ(store_->find_session(kSparePrincipal, spare.id).error().kind, Kind::kNotFound);
  EXPECT_TRUE(store_->audit_of_session(spare.id, 100).value().empty());
  EXPECT_EQ(store_->find_session(principal_, adopted.id).value().status, SessionStatus::kDestroyed);
}

}  // namespace
