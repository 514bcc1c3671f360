// Rows of shared files: whose they are, who finds them, and when their time is over.
#include "sessions/share_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random_id.h"
#include "sessions/audit_table.h"
#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

using Kind = base::Error::Kind;

class ShareTableTest : public testing::StoreFixture {
 protected:
  using Ids = std::vector<std::string>;

  static Share share_of(const Session& owner, const std::string& id, std::int64_t created_at = 0) {
    Share share;
    share.id = id;
    share.session_id = owner.id;
    share.principal_id = owner.principal_id;
    share.created_at = created_at;
    return share;
  }
  void add(const Share& share) { ASSERT_TRUE(store_->shares.insert(share).ok()); }
  void add_expiring(Share share, std::int64_t expires_at) {
    share.expires_at = expires_at;
    add(share);
  }
  Ids listed() { return ids_in(store_->shares.list(principal_).value()); }
  Ids expired(std::int64_t now) { return ids_in(store_->shares.expired(now).value()); }
  std::size_t audited(const Session& owner, const std::string& action) {
    std::size_t count = 0;
    for (const AuditEntry& entry : store_->audit.of_session(owner.id, 100).value()) {
      if (entry.action == action) ++count;
    }
    return count;
  }
};

TEST_F(ShareTableTest, AShareComesBackAsItWent) {
  const Session owner = created();
  Share share = share_of(owner, "share", 7);
  share.filename = "a.csv";
  share.source_path = "/workspace/a.csv";
  share.bytes = 5;
  share.sha256 = "abc";
  share.mime_type = "text/csv";
  add(share);
  for (const Share& found :
       {store_->shares.find(principal_, "share").value(),
        store_->shares.find_linked("share").value(), store_->shares.list(principal_).value()[0],
        store_->shares.of_session(owner.id).value()[0]}) {
    EXPECT_EQ(found.id, "share");
    EXPECT_EQ(found.session_id, owner.id);
    EXPECT_EQ(found.principal_id, principal_);
    EXPECT_EQ(found.filename, "a.csv");
    EXPECT_EQ(found.source_path, "/workspace/a.csv");
    EXPECT_EQ(found.bytes, 5);
    EXPECT_EQ(found.sha256, "abc");
    EXPECT_EQ(found.mime_type, "text/csv");
    EXPECT_EQ(found.created_at, 7);
    EXPECT_FALSE(found.expires_at);
  }
}

TEST_F(ShareTableTest, AShareNeedsItsSessionAndAnIdOfItsOwn) {
  const Session owner = created();
  Session nobody = owner;
  nobody.id = "nobody";
  EXPECT_FALSE(store_->shares.insert(share_of(nobody, "share")).ok());
  EXPECT_FALSE(store_->shares.exists("share").value());
  EXPECT_EQ(audited(nobody, "share_file"), 0U);
  add(share_of(owner, "share"));
  EXPECT_FALSE(store_->shares.insert(share_of(owner, "share")).ok());
  EXPECT_EQ(audited(owner, "share_file"), 1U);
}

TEST_F(ShareTableTest, SharesExpire) {
  const Session owner = created();
  Share share;
  share.id = base::random_id("share_");
  share.session_id = owner.id;
  share.principal_id = principal_;
  share.created_at = base::now_ms();
  share.expires_at = base::now_ms() + 1'000'000;
  ASSERT_TRUE(store_->shares.insert(share).ok());
  EXPECT_TRUE(store_->shares.find(principal_, share.id).ok());
  EXPECT_FALSE(store_->shares.find("other", share.id).ok());
  EXPECT_TRUE(store_->shares.expired(base::now_ms()).value().empty());
  EXPECT_EQ(store_->shares.expired(*share.expires_at).value().size(), 1U);
  share.id = base::random_id("share_");
  share.expires_at = 1;
  ASSERT_TRUE(store_->shares.insert(share).ok());
  EXPECT_FALSE(store_->shares.find(principal_, share.id).ok());
  EXPECT_EQ(store_->shares.list(principal_).value().size(), 1U);
  ASSERT_TRUE(store_->shares.remove(share).ok());
  EXPECT_FALSE(store_->shares.exists(share.id).value());
}

TEST_F(ShareTableTest, WhoeverHasTheLinkFindsItUntilItsTimeIsOver) {
  add(share_of(created_by("other"), "theirs"));
  add_expiring(share_of(created(), "over"), 1);
  EXPECT_EQ(store_->shares.find_linked("theirs").value().id, "theirs");
  const auto unknown = store_->shares.find_linked("nobody's").error();
  EXPECT_EQ(unknown.kind, Kind::kNotFound);
  EXPECT_EQ(store_->shares.find_linked("over").error().message, unknown.message);
  EXPECT_EQ(store_->shares.find(principal_, "theirs").error().message, unknown.message);
  EXPECT_TRUE(store_->shares.exists("over").value()) << "it is not deleted yet";
  EXPECT_FALSE(store_->shares.exists("nobody's").value());
}

TEST_F(ShareTableTest, AListEndsWithTheNewestAndHasNobodyElses) {
  const Session one = created();
  const Session two = created();
  EXPECT_TRUE(listed().empty());
  add(share_of(one, "c", 3));
  add(share_of(two, "b", 2));
  add(share_of(one, "a", 2));
  add_expiring(share_of(one, "over", 1), 1);
  add(share_of(created_by("other"), "theirs", 2));
  EXPECT_EQ(listed(), (Ids{"a", "b", "c"}));
  EXPECT_EQ(ids_in(store_->shares.of_session(one.id).value()), (Ids{"a", "c"}));
  EXPECT_EQ(ids_in(store_->shares.of_session(two.id).value()), Ids{"b"});
  EXPECT_TRUE(store_->shares.of_session("nobody").value().empty());
}

TEST_F(ShareTableTest, ExpiredOnesComeInTheOrderInWhichTheirTimeIsOver) {
  const Session owner = created();
  add_expiring(share_of(owner, "b"), 20);
  add_expiring(share_of(created_by("other"), "a"), 10);
  add_expiring(share_of(owner, "c"), 30);
  add(share_of(owner, "for_ever"));
  EXPECT_TRUE(expired(9).empty());
  EXPECT_EQ(expired(10), Ids{"a"});
  EXPECT_EQ(expired(29), (Ids{"a", "b"}));
  EXPECT_EQ(expired(30), (Ids{"a", "b", "c"}));
}

TEST_F(ShareTableTest, AThousandAreTakenAtOnce) {
  const Session owner = created();
  execute(
      "WITH RECURSIVE n(v) AS (SELECT 0 UNION ALL SELECT v + 1 FROM n WHERE v < 1000) "
      "INSERT INTO shares SELECT 'share_' || v, '" +
      owner.id + "', '" + principal_ + "', '', '', 1, '', '', v, NULL FROM n");
  ASSERT_EQ(number_of("SELECT count(*) FROM shares"), 1001);
  const Ids ids = listed();
  ASSERT_EQ(ids.size(), 1000U);
  EXPECT_EQ(ids.front(), "share_1") << "the oldest one is left out";
  EXPECT_EQ(ids.back(), "share_1000");
  execute("UPDATE shares SET expires_at = created_at");
  EXPECT_EQ(expired(5000).size(), 1000U);
  EXPECT_EQ(expired(5000).back(), "share_999") << "the newest one is left for the next time";
}

TEST_F(ShareTableTest, OneIsRemovedAndTheOperatorHearsIt) {
  const Session owner = created();
  add(share_of(owner, "one"));
  add(share_of(owner, "other"));
  listen();
  const Share one = store_->shares.find(principal_, "one").value();
  ASSERT_TRUE(store_->shares.remove(one).ok());
  ASSERT_TRUE(store_->shares.remove(one).ok()) << "another server was faster";
  EXPECT_EQ(listed(), Ids{"other"});
  ASSERT_EQ(heard_.size(), 1U);
  EXPECT_EQ(heard_[0].message, "shared file one deleted: its time is over");
  EXPECT_EQ(heard_[0].principal_id, principal_);
  EXPECT_EQ(heard_[0].session_id, owner.id);
}

TEST_F(ShareTableTest, OnlyItsPrincipalTakesItBack) {
  const Session owner = created();
  const std::string other = store_->principals.ensure("other").value();
  add(share_of(owner, "one"));
  add(share_of(owner, "stays"));
  listen();
  EXPECT_EQ(store_->shares.revoke(other, "one").error().kind, Kind::kNotFound);
  EXPECT_TRUE(store_->shares.exists("one").value());
  EXPECT_TRUE(heard_.empty());
  ASSERT_TRUE(store_->shares.revoke(principal_, "one").ok());
  EXPECT_EQ(listed(), Ids{"stays"});
  EXPECT_EQ(audited(owner, "revoke_share"), 1U);
  ASSERT_EQ(heard_.size(), 1U);
  EXPECT_EQ(heard_[0].message, "shared file one taken back");
  EXPECT_EQ(heard_[0].principal_id, principal_);
  EXPECT_EQ(heard_[0].session_id, owner.id);
  EXPECT_EQ(store_->shares.revoke(principal_, "one").error().kind, Kind::kNotFound);
}

TEST_F(ShareTableTest, OneWhoseTimeIsOverIsNotTakenBack) {
  const Session owner = created();
  add_expiring(share_of(owner, "over"), 1);
  EXPECT_EQ(store_->shares.revoke(principal_, "over").error().kind, Kind::kNotFound);
  EXPECT_TRUE(store_->shares.exists("over").value());
  EXPECT_EQ(audited(owner, "revoke_share"), 0U);
}

}  // namespace
}  // namespace sessions
