// Sessions whose ids on the host are those of another state directory.
#include <set>

#include "sessions/session_table.h"
#include "tests/unit/sessions/store_fixture.h"

namespace {

using namespace sessions;

class StoreHostUids : public sessions::testing::StoreFixture {
 protected:
  static constexpr HostUidRange kOwn{2'000'000'000, 1000};

  std::size_t renew(const HostUidRange& range = kOwn) {
    return store_->sessions.renew_host_uids(range, [](const std::string&) { return true; }).value();
  }
  std::int64_t uid_of(const Session& session) {
    return store_->sessions.find(principal_, session.id).value().host_uid.value_or(-1);
  }
};

TEST_F(StoreHostUids, AreRenewedOnce) {
  std::vector<Session> all;
  for (int i = 0; i < 20; ++i) all.push_back(created());
  // As of a directory that an ordinary user has made.
  all.push_back(store_->sessions.create(session(), std::nullopt, 1000).value());
  EXPECT_EQ(renew(kIds), 1U) << "those of the range stay";
  EXPECT_EQ(renew(), 21U);
  std::set<std::int64_t> ids;
  for (const Session& one : all) ids.insert(uid_of(one));
  EXPECT_EQ(ids.size(), all.size());
  EXPECT_TRUE(kOwn.has(*ids.begin()) && kOwn.has(*ids.rbegin()));
  EXPECT_EQ(renew(), 0U);
  const Session made = store_->sessions.create(session(), kOwn, 1000).value();
  EXPECT_FALSE(ids.contains(*made.host_uid));
}

TEST_F(StoreHostUids, OfOneWhoseBoxLivesStay) {
  const Session lives = created();
  const Session other = created();
  const auto renewed =
      store_->sessions.renew_host_uids(kOwn, [&](const std::string& id) { return id != lives.id; });
  EXPECT_EQ(renewed.value(), 1U);
  EXPECT_EQ(uid_of(lives), lives.host_uid);
  EXPECT_TRUE(kOwn.has(uid_of(other)));
}

TEST_F(StoreHostUids, AreNotThoseThatAnotherSessionHolds) {
  const Session kept = store_->sessions.create(session(), kOwn, 1000).value();
  const Session copied = created();
  EXPECT_EQ(renew(), 1U);
  EXPECT_EQ(uid_of(kept), kOwn.first);
  EXPECT_EQ(uid_of(copied), kOwn.first + 1);
}

TEST_F(StoreHostUids, OfDeletedSessionsAreLeft) {
  const Session deleted = created();
  ASSERT_TRUE(store_->sessions.set_status(deleted.id, SessionStatus::kDestroyed, "").ok());
  EXPECT_EQ(renew(), 0U);
}

TEST_F(StoreHostUids, ARangeThatIsTooSmallChangesNothing) {
  const Session a = created();
  const Session b = created();
  EXPECT_FALSE(
      store_->sessions.renew_host_uids({kOwn.first, 1}, [](const std::string&) { return true; })
          .ok());
  EXPECT_EQ(uid_of(a), a.host_uid);
  EXPECT_EQ(uid_of(b), b.host_uid);
}

}  // namespace
