// Sessions that are made ahead of need, in the database.
#include "sessions/audit_table.h"
#include "sessions/run_table.h"
#include "sessions/session.h"
#include "sessions/session_lists.h"
#include "sessions/session_table.h"
#include "sessions/spare_table.h"
#include "tests/unit/sessions/store_fixture.h"

namespace {

using namespace sessions;
using Kind = base::Error::Kind;

using SparesTest = sessions::testing::StoreFixture;

TEST_F(SparesTest, ASpareSessionBecomesWhatIsWanted) {
  ASSERT_TRUE(store_->spares.ensure_principal().ok());
  const Session spare = store_->sessions.create(session("", kSparePrincipal), kIds, 1000).value();
  EXPECT_TRUE(store_->session_lists.newest_used(10).value().empty()) << "it is nobody's yet";
  expect_of_e2b(store_->spares.adopt(spare.id, session_of_e2b(), 1000).value());
  EXPECT_EQ(store_->session_lists.newest_used(10).value(), std::vector<std::string>{spare.id});
}

TEST_F(SparesTest, ASpareSessionIsAdoptedOnce) {
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

TEST_F(SparesTest, ARefusedAdoptionLeavesTheSpareSession) {
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

TEST_F(SparesTest, NothingIsKeptOfOneThatNobodyHad) {
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

}  // namespace
