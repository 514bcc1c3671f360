// What sessions and their principals have sent and received, in the store.
#include <gtest/gtest.h>

#include "sessions/network_table.h"
#include "sessions/principal_table.h"
#include "sessions/session_table.h"
#include "tests/unit/sessions/store_fixture.h"

namespace {

using namespace sessions;

class StoreNetworkTest : public sessions::testing::StoreFixture {};

using sandbox::JournalEntry;
using EntryKind = sandbox::JournalEntry::Kind;

constexpr std::int64_t kDay = 20'000;
constexpr std::int64_t kNumbersPerDay = 86'400'000'000;

JournalEntry begins(std::int64_t number, std::int64_t end) {
  JournalEntry entry;
  entry.request.number = entry.at = number;
  entry.request.verdict = "allowed";
  entry.request.host = "a.test";
  entry.request.is_open = true;
  entry.end = end;
  return entry;
}

JournalEntry goes_on(std::int64_t number, std::int64_t sent, std::int64_t used, std::int64_t end) {
  JournalEntry entry;
  entry.kind = EntryKind::kGoesOn;
  entry.request.number = entry.at = number;
  entry.request.sent_bytes = sent;
  entry.used_bytes = used;
  entry.end = end;
  return entry;
}

JournalEntry use(std::int64_t at, std::int64_t bytes, std::int64_t end) {
  JournalEntry entry;
  entry.kind = EntryKind::kUse;
  entry.at = at;
  entry.used_bytes = bytes;
  entry.end = end;
  return entry;
}

TEST_F(StoreNetworkTest, BytesOfTheNetworkAreCountedOnce) {
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

TEST_F(StoreNetworkTest, WhatAJournalOfBeforeTellsAgainIsThere) {
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

TEST_F(StoreNetworkTest, RequestsAreThereAsTheyBeginAndSayWhatBecameOfThem) {
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

class NetworkShares : public StoreNetworkTest {
 protected:
  Session session_of(const std::string& name) {
    return store_->sessions.create(session("", store_->principals.ensure(name).value()), kIds, 1000)
        .value();
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

  static constexpr std::int64_t kMost = 100;
};

TEST_F(NetworkShares, OneWhoAsksALotTakesNothingFromTheOthers) {
  const Session quiet = session_of("quiet");
  const Session loud = session_of("loud");
  add(quiet, 1, 10);
  for (int i = 0; i < 20; ++i) add(loud, 1000 + i * 60, 60);
  EXPECT_EQ(count(quiet), 10) << "the oldest of all, of a principal with few";
  EXPECT_EQ(count(loud), 90);
  EXPECT_EQ(store_->network.request(loud.id, 1000 + 20 * 60 - 1).value()->session_id, loud.id);
  EXPECT_EQ(store_->network.requests_gone().value(), 20 * 60 + 10 - 100);
  add(quiet, 100'000, 200);
  EXPECT_EQ(count(quiet), 50);
  EXPECT_EQ(count(loud), 50) << "half each";
  const Session third = session_of("third");
  add(third, 200'000, 5);
  EXPECT_EQ(count(third), 5);
  EXPECT_EQ(count(quiet) + count(loud), 95);
}

TEST_F(NetworkShares, AllOfOnePrincipal) {
  const Session one = created();
  const Session two = created();
  add(one, 1, 80);
  add(two, 1000, 80);
  EXPECT_EQ(count(one), 20) << "the oldest go";
  EXPECT_EQ(count(two), 80);
}

}  // namespace
