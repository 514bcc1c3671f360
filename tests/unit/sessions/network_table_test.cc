// Requests of sessions to the network, what they and their principals have moved, and their grants.
#include "sessions/network_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

using sandbox::JournalEntry;

class NetworkTableTest : public testing::StoreFixture {
 protected:
  static constexpr std::int64_t kDay = 20'000;
  static constexpr std::int64_t kNumbersPerDay = 86'400'000'000;
  static constexpr std::int64_t kMost = 100;

  static JournalEntry begins(std::int64_t number, std::int64_t end) {
    JournalEntry entry;
    entry.request.number = entry.at = number;
    entry.request.verdict = "allowed";
    entry.request.host = "a.test";
    entry.request.is_open = true;
    entry.end = end;
    return entry;
  }
  static JournalEntry goes_on(std::int64_t number, std::int64_t sent, std::int64_t used,
                              std::int64_t end) {
    JournalEntry entry;
    entry.kind = JournalEntry::Kind::kGoesOn;
    entry.request.number = entry.at = number;
    entry.request.sent_bytes = sent;
    entry.used_bytes = used;
    entry.end = end;
    return entry;
  }
  static JournalEntry use(std::int64_t at, std::int64_t bytes, std::int64_t end) {
    JournalEntry entry;
    entry.kind = JournalEntry::Kind::kUse;
    entry.at = at;
    entry.used_bytes = bytes;
    entry.end = end;
    return entry;
  }
  void add(const Session& session, std::int64_t first, std::int64_t count) {
    std::vector<JournalEntry> entries;
    const std::int64_t taken = store_->network.journal_taken(session.id).value();
    for (std::int64_t i = 0; i < count; ++i) entries.push_back(begins(first + i, taken + i + 1));
    EXPECT_TRUE(store_->network.take_journal(session.id, taken, entries, kMost).value());
  }
  std::size_t count(const Session& session) {
    return store_->network.requests({.session = session.id, .limit = 10 * kMost}).value().size();
  }
  void take(const Session& session, const std::vector<JournalEntry>& entries) {
    const std::int64_t taken = store_->network.journal_taken(session.id).value();
    EXPECT_TRUE(store_->network.take_journal(session.id, taken, entries).value());
  }
  std::vector<std::int64_t> numbers(const RequestsWanted& wanted) {
    std::vector<std::int64_t> found;
    for (const AuditedRequest& one : store_->network.requests(wanted).value()) {
      found.push_back(one.request.number);
    }
    return found;
  }
  std::vector<std::string> grants(const Session& session) {
    return store_->network.grants(session.id).value();
  }
  void grant(const Session& session, const std::string& rule, std::int64_t at) {
    ASSERT_TRUE(store_->network.set_grant(session.id, rule, true, at).ok());
  }
};

TEST_F(NetworkTableTest, GrantsComeInTheOrderInWhichTheyWereGiven) {
  const Session one = created();
  const Session other = created();
  EXPECT_TRUE(grants(one).empty());
  grant(one, "c.test", 1);
  grant(one, "b.test", 2);
  grant(one, "a.test", 2);
  grant(other, "d.test", 1);
  grant(one, "c.test", 3);  // which it has, and that stays as it is
  EXPECT_EQ(grants(one), (std::vector<std::string>{"c.test", "a.test", "b.test"}));
  ASSERT_TRUE(store_->network.set_grant(one.id, "a.test", false, 4).ok());
  ASSERT_TRUE(store_->network.set_grant(one.id, "d.test", false, 4).ok());
  EXPECT_EQ(grants(one), (std::vector<std::string>{"c.test", "b.test"}));
  EXPECT_EQ(grants(other), std::vector<std::string>{"d.test"});
}

TEST_F(NetworkTableTest, NothingIsGivenToADestroyedSessionOrToNobody) {
  const Session one = created();
  grant(one, "a.test", 1);
  destroy(one);
  grant(one, "b.test", 2);
  EXPECT_EQ(grants(one), std::vector<std::string>{"a.test"});
  ASSERT_TRUE(store_->network.set_grant(one.id, "a.test", false, 3).ok());
  EXPECT_TRUE(grants(one).empty()) << "it is taken back all the same";
  ASSERT_TRUE(store_->network.set_grant("nobody", "a.test", true, 1).ok());
  EXPECT_TRUE(store_->network.grants("nobody").value().empty());
}

TEST_F(NetworkTableTest, NothingIsThereBeforeAJournalWasTaken) {
  const Session one = created();
  for (const std::string& id : {one.id, std::string("nobody")}) {
    EXPECT_EQ(store_->network.journal_taken(id).value(), 0);
    EXPECT_EQ(store_->network.bytes(id).value(), 0);
    EXPECT_FALSE(store_->network.request(id, 1).value());
    EXPECT_TRUE(store_->network.end_requests(id).ok());
  }
  EXPECT_EQ(store_->network.bytes_on(principal_, kDay).value(), 0);
  EXPECT_TRUE(numbers({}).empty());
  EXPECT_EQ(store_->network.requests_gone().value(), 0);
  EXPECT_FALSE(store_->network.take_journal(one.id, 0, {}).value()) << "nothing to take";
}

TEST_F(NetworkTableTest, ARequestComesBackAsItWent) {
  const Session one = created();
  JournalEntry entry;
  entry.end = 10;
  sandbox::NetworkRequest& request = entry.request;
  request.number = 5;
  request.verdict = "refused";
  request.host = "a.test";
  request.port = 443;
  request.method = "GET";
  request.path = "/a?b";
  request.status = 403;
  request.reason = "not granted";
  request.missing_rule = "a.test";
  request.credential = "key";
  request.was_kept = true;
  request.sent_bytes = 6;
  request.received_bytes = 7;
  request.ms = 8;
  request.is_open = true;
  request.more = 9;
  take(one, {entry});
  for (const AuditedRequest& back : {store_->network.request(one.id, 5).value().value(),
                                     store_->network.requests({}).value().at(0)}) {
    EXPECT_EQ(back.session_id, one.id);
    EXPECT_EQ(back.request.number, 5);
    EXPECT_EQ(back.request.verdict, "refused");
    EXPECT_EQ(back.request.host, "a.test");
    EXPECT_EQ(back.request.port, 443);
    EXPECT_EQ(back.request.method, "GET");
    EXPECT_EQ(back.request.path, "/a?b");
    EXPECT_EQ(back.request.status, 403);
    EXPECT_EQ(back.request.reason, "not granted");
    EXPECT_EQ(back.request.missing_rule, "a.test");
    EXPECT_EQ(back.request.credential, "key");
    EXPECT_TRUE(back.request.was_kept && back.request.is_open);
    EXPECT_EQ(back.request.sent_bytes, 6);
    EXPECT_EQ(back.request.received_bytes, 7);
    EXPECT_EQ(back.request.ms, 8);
    EXPECT_EQ(back.request.more, 9);
  }
}

TEST_F(NetworkTableTest, WhatARequestHasToldIsNotTakenBack) {
  const Session one = created();
  JournalEntry told = goes_on(1, 30, 0, 20);
  told.request.status = 200;
  told.request.credential = "key";
  told.request.was_kept = true;
  told.request.received_bytes = 40;
  told.request.ms = 50;
  take(one, {begins(1, 5), begins(2, 10), told, goes_on(1, 20, 0, 30), goes_on(3, 20, 0, 40)});
  const auto found = store_->network.request(one.id, 1).value().value().request;
  EXPECT_EQ(found.status, 200);
  EXPECT_EQ(found.credential, "key");
  EXPECT_TRUE(found.was_kept);
  EXPECT_EQ(found.sent_bytes, 30);
  EXPECT_EQ(found.received_bytes, 40);
  EXPECT_EQ(found.ms, 50);
  EXPECT_EQ(store_->network.request(one.id, 2).value()->request.sent_bytes, 0);
  EXPECT_FALSE(store_->network.request(one.id, 3).value()) << "nobody has told that it began";
}

TEST_F(NetworkTableTest, OnlyRequestsOfTheSessionEnd) {
  const Session one = created();
  const Session other = created();
  take(one, {begins(1, 10)});
  take(other, {begins(1, 10)});
  ASSERT_TRUE(store_->network.end_requests(one.id).ok());
  EXPECT_FALSE(store_->network.request(one.id, 1).value()->request.is_open);
  EXPECT_TRUE(store_->network.request(other.id, 1).value()->request.is_open);
}

TEST_F(NetworkTableTest, OnlyTheRequestsThatAreWantedAreTold) {
  const Session one = created("one");
  const Session other = created("other");
  JournalEntry refused = begins(4, 40);
  refused.request.verdict = "refused";
  take(one, {begins(1, 10), begins(3, 30), refused});
  take(other, {begins(2, 10), begins(5, 30)});
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(numbers({}), (Numbers{1, 2, 3, 4, 5})) << "the oldest first";
  EXPECT_EQ(numbers({.session = "", .limit = 2}), (Numbers{4, 5}))
      << "the newest, where there are more";
  EXPECT_EQ(numbers({.session = "", .after_number = 3}), (Numbers{4, 5}));
  EXPECT_EQ(numbers({.session = one.id}), (Numbers{1, 3, 4}));
  EXPECT_EQ(numbers({.session = "other"}), (Numbers{2, 5})) << "by its name";
  EXPECT_EQ(numbers({.session = "", .refused_only = true}), Numbers{4});
  EXPECT_TRUE(numbers({.session = "other", .refused_only = true}).empty());
  EXPECT_EQ(numbers({.session = "one", .after_number = 1, .limit = 1}), Numbers{4});
  EXPECT_TRUE(numbers({.session = "nobody"}).empty());
}

TEST_F(NetworkTableTest, DaysOfLongAgoAreForgotten) {
  const Session one = created();
  const auto used_on = [&](std::int64_t day, std::int64_t end) {
    take(one, {use(day * kNumbersPerDay, 7, end)});
  };
  used_on(kDay, 10);
  used_on(kDay + 31, 20);
  EXPECT_EQ(store_->network.bytes_on(principal_, kDay).value(), 7);
  used_on(kDay + 32, 30);
  EXPECT_EQ(store_->network.bytes_on(principal_, kDay).value(), 0);
  EXPECT_EQ(store_->network.bytes_on(principal_, kDay + 31).value(), 7);
  EXPECT_EQ(store_->network.bytes(one.id).value(), 21) << "the session's are all";
}

TEST_F(NetworkTableTest, BytesOfTheNetworkAreCountedOnce) {
  const Session first = created();
  const Session second = created();
  const std::int64_t begun = kDay * kNumbersPerDay + 1;
  const std::vector<JournalEntry> lines{begins(begun, 10), goes_on(begun, 100, 110, 20)};
  EXPECT_TRUE(store_->network.take_journal(first.id, 0, lines).value());
  EXPECT_FALSE(store_->network.take_journal(first.id, 0, lines).value()) << "another server has";
  EXPECT_EQ(store_->network.journal_taken(first.id).value(), 20);
  EXPECT_TRUE(store_->network
                  .take_journal(first.id, 20,
                                {use((kDay + 1) * kNumbersPerDay - 1, 3, 30),
                                 use((kDay + 1) * kNumbersPerDay, 5, 40)})
                  .value());
  EXPECT_TRUE(store_->network.take_journal(second.id, 0, lines).value());
  EXPECT_EQ(store_->network.bytes(first.id).value(), 118);
  EXPECT_EQ(store_->network.bytes(second.id).value(), 110);
  EXPECT_EQ(store_->network.bytes_on(principal_, kDay).value(), 223);
  EXPECT_EQ(store_->network.bytes_on(principal_, kDay + 1).value(), 5);
  EXPECT_EQ(store_->network.bytes_on("nobody", kDay).value(), 0);
}

TEST_F(NetworkTableTest, WhatAJournalOfBeforeTellsAgainIsThere) {
  const Session one = created();
  JournalEntry whole = begins(kDay * kNumbersPerDay, 10);
  whole.request.is_open = false;
  whole.used_bytes = 7;
  EXPECT_TRUE(store_->network.take_journal(one.id, 0, {whole}).value());
  whole.end = 20;
  EXPECT_TRUE(store_->network.take_journal(one.id, 10, {whole}).value());
  EXPECT_EQ(store_->network.bytes(one.id).value(), 7);
  EXPECT_EQ(store_->network.requests({}).value().size(), 1);
}

TEST_F(NetworkTableTest, RequestsAreThereAsTheyBeginAndSayWhatBecameOfThem) {
  const Session one = created();
  JournalEntry answered = goes_on(1, 30, 0, 40);
  answered.request.status = 200;
  answered.request.credential = "key";
  JournalEntry carried = goes_on(1, 20, 0, 30);
  carried.request.is_open = true;
  ASSERT_TRUE(store_->network.take_journal(one.id, 0, {begins(1, 10), begins(2, 20)}).value());
  ASSERT_TRUE(store_->network.take_journal(one.id, 20, {carried}).value());
  auto found = store_->network.request(one.id, 1).value();
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->request.is_open);
  EXPECT_EQ(found->request.sent_bytes, 20);
  EXPECT_EQ(found->request.host, "a.test");
  ASSERT_TRUE(store_->network.take_journal(one.id, 30, {answered}).value());
  found = store_->network.request(one.id, 1).value();
  EXPECT_FALSE(found->request.is_open);
  EXPECT_EQ(found->request.status, 200);
  EXPECT_EQ(found->request.credential, "key");
  EXPECT_TRUE(store_->network.request(one.id, 2).value()->request.is_open);
  ASSERT_TRUE(store_->network.end_requests(one.id).ok());
  EXPECT_FALSE(store_->network.request(one.id, 2).value()->request.is_open);
  EXPECT_FALSE(store_->network.request(one.id, 3).value());
}

TEST_F(NetworkTableTest, OneWhoAsksALotTakesNothingFromTheOthers) {
  const Session quiet = created_by("quiet");
  const Session loud = created_by("loud");
  add(quiet, 1, 10);
  for (int i = 0; i < 20; ++i) add(loud, 1000 + i * 60, 60);
  EXPECT_EQ(count(quiet), 10) << "the oldest of all, of a principal with few";
  EXPECT_EQ(count(loud), 90);
  EXPECT_EQ(store_->network.request(loud.id, 1000 + 20 * 60 - 1).value()->session_id, loud.id);
  EXPECT_EQ(store_->network.requests_gone().value(), 20 * 60 + 10 - 100);
  add(quiet, 100'000, 200);
  EXPECT_EQ(count(quiet), 50);
  EXPECT_EQ(count(loud), 50) << "half each";
  const Session third = created_by("third");
  add(third, 200'000, 5);
  EXPECT_EQ(count(third), 5);
  EXPECT_EQ(count(quiet) + count(loud), 95);
}

TEST_F(NetworkTableTest, OneLineTellsOfThoseThatMakeWayInAMinute) {
  listen();
  const Session one = created();
  add(one, 1, kMost);
  EXPECT_TRUE(heard_.empty());
  add(one, 1000, 7);
  for (int i = 0; i < 5; ++i) add(one, 2000 + 10 * i, 3);
  ASSERT_EQ(heard_.size(), 1U);
  EXPECT_EQ(heard_[0].level, Notice::Level::kInfo);
  EXPECT_TRUE(heard_[0].message.starts_with("7 requests deleted from the audit"))
      << heard_[0].message;
}

TEST_F(NetworkTableTest, TheOldestRequestsOfOnePrincipalMakeWay) {
  const Session one = created();
  const Session two = created();
  add(one, 1, 80);
  add(two, 1000, 80);
  EXPECT_EQ(count(one), 20) << "the oldest go";
  EXPECT_EQ(count(two), 80);
}

}  // namespace
}  // namespace sessions
