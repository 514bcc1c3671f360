// The keys that all servers of one database seal with: the same for all, young, and then gone.
#include "sessions/sealing_key_table.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

namespace fs = std::filesystem;

class SealingKeyTableTest : public testing::StoreFixture {
 protected:
  static constexpr std::int64_t kNow = 1'800'000'000'000;

  [[nodiscard]] std::unique_ptr<Store> open() const { return Store::open(path()).value(); }
};

TEST_F(SealingKeyTableTest, KeysAreTheSameForEveryServerAndAfterARestart) {
  const auto keys = store_->sealing_keys.newest(kNow).value();
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys[0].size(), 64U);
  EXPECT_EQ(open()->sealing_keys.newest(kNow + 1000).value(), keys);
  store_.reset();
  EXPECT_EQ(open()->sealing_keys.newest(kNow + 2000).value(), keys);
  const auto mode = fs::status(path()).permissions();
  EXPECT_EQ(mode, fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(SealingKeyTableTest, KeysAreReplacedEveryDayAndKeptForADayMore) {
  const std::string first = store_->sealing_keys.newest(kNow).value().at(0);
  EXPECT_EQ(store_->sealing_keys.newest(kNow + kSealingKeyMs - 1).value(), std::vector{first});
  const auto both = store_->sealing_keys.newest(kNow + kSealingKeyMs).value();
  ASSERT_EQ(both.size(), 2U);
  EXPECT_NE(both[0], first);
  EXPECT_EQ(both[1], first);
  EXPECT_EQ(store_->sealing_keys.newest(kNow + kSealingKeyMs + kSealingKeyKeptMs - 1).value(),
            both);
  const auto next = store_->sealing_keys.newest(kNow + kSealingKeyMs + kSealingKeyKeptMs).value();
  ASSERT_EQ(next.size(), 2U);
  EXPECT_EQ(next[1], both[0]);
  // After a long rest nothing old is left, in the answer or in the table.
  const auto late = store_->sealing_keys.newest(kNow + 10 * kSealingKeyMs).value();
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(number_of("SELECT COUNT(*) FROM sealing_keys"), 1);
}

TEST_F(SealingKeyTableTest, OneIsMadeHoweverManyAsk) {
  std::vector<std::unique_ptr<Store>> stores;
  for (int i = 0; i < 8; ++i) stores.push_back(open());
  std::vector<std::vector<std::string>> got(stores.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < stores.size(); ++i) {
      threads.emplace_back([&, i] { got[i] = stores[i]->sealing_keys.newest(kNow).value(); });
    }
  }
  EXPECT_EQ((std::set<std::vector<std::string>>(got.begin(), got.end()).size()), 1U);
  EXPECT_EQ(got[0].size(), 1U);
}

TEST_F(SealingKeyTableTest, AKeyOpensUntilItsLastMillisecond) {
  const std::string old = store_->sealing_keys.newest(kNow).value().at(0);
  const auto both = store_->sealing_keys.newest(kNow + kSealingKeyMs + 5).value();
  const std::int64_t end = kNow + kSealingKeyMs + kSealingKeyKeptMs;
  EXPECT_EQ(store_->sealing_keys.newest(end - 1).value(), both);
  EXPECT_EQ(store_->sealing_keys.newest(end).value(), std::vector{both.at(0)});
  EXPECT_EQ(both.at(1), old);
  // It goes when the next one is made.
  EXPECT_EQ(store_->sealing_keys.newest(end + 4).value(), std::vector{both.at(0)});
  ASSERT_EQ(store_->sealing_keys.newest(end + 5).value().size(), 2U);
  EXPECT_EQ(number_of("SELECT count(*) FROM sealing_keys"), 2);
}

TEST_F(SealingKeyTableTest, AKeyGoesInItsLastMillisecondWhenTheNextOneIsMadeThen) {
  for (int days = 0; days < 3; ++days) {
    ASSERT_TRUE(store_->sealing_keys.newest(kNow + days * kSealingKeyMs).ok());
  }
  EXPECT_EQ(number_of("SELECT count(*) FROM sealing_keys"), 2);
}

TEST_F(SealingKeyTableTest, AKeyIsRandomDigits) {
  std::set<std::string> halves;
  for (int i = 0; i < 5; ++i) {
    const std::string key = store_->sealing_keys.newest(kNow + i * kSealingKeyMs).value().at(0);
    ASSERT_EQ(key.size(), 64U);
    EXPECT_EQ(key.find_first_not_of("0123456789abcdef"), std::string::npos) << key;
    EXPECT_TRUE(halves.insert(key.substr(0, 32)).second);
    EXPECT_TRUE(halves.insert(key.substr(32)).second);
  }
}

TEST_F(SealingKeyTableTest, AClockThatIsPutBackFindsTheSameKeys) {
  ASSERT_TRUE(store_->sealing_keys.newest(kNow).ok());
  const auto both = store_->sealing_keys.newest(kNow + kSealingKeyMs).value();
  EXPECT_EQ(store_->sealing_keys.newest(kNow + 5).value(), both);
  EXPECT_EQ(number_of("SELECT count(*) FROM sealing_keys"), 2);
}

}  // namespace
}  // namespace sessions
