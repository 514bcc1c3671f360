// The keys that all servers of one database seal with: the same for all, young, and then gone.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include "sessions/sealing_key_table.h"
#include "sessions/sqlite.h"
#include "sessions/store.h"

namespace {

using namespace sessions;
namespace fs = std::filesystem;

constexpr std::int64_t kNow = 1'800'000'000'000;

class SealingKeysTest : public ::testing::Test {
 protected:
  SealingKeysTest() : directory_(::testing::TempDir() + "hutch_keys_XXXXXX") {
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
  }
  ~SealingKeysTest() override { fs::remove_all(directory_); }

  [[nodiscard]] std::unique_ptr<Store> open() const {
    return Store::open(directory_ + "/hutch.db").value();
  }

  std::string directory_;
};

TEST_F(SealingKeysTest, AreTheSameForEveryServerAndAfterARestart) {
  auto one = open();
  const auto keys = one->sealing_keys.newest(kNow).value();
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys[0].size(), 64U);
  EXPECT_EQ(open()->sealing_keys.newest(kNow + 1000).value(), keys);
  one.reset();
  EXPECT_EQ(open()->sealing_keys.newest(kNow + 2000).value(), keys);
  const auto mode = fs::status(directory_ + "/hutch.db").permissions();
  EXPECT_EQ(mode, fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(SealingKeysTest, AreReplacedEveryDayAndKeptForADayMore) {
  const auto store = open();
  const std::string first = store->sealing_keys.newest(kNow).value().at(0);
  EXPECT_EQ(store->sealing_keys.newest(kNow + kSealingKeyMs - 1).value(), std::vector{first});
  const auto both = store->sealing_keys.newest(kNow + kSealingKeyMs).value();
  ASSERT_EQ(both.size(), 2U);
  EXPECT_NE(both[0], first);
  EXPECT_EQ(both[1], first);
  EXPECT_EQ(store->sealing_keys.newest(kNow + kSealingKeyMs + kSealingKeyKeptMs - 1).value(), both);
  const auto next = store->sealing_keys.newest(kNow + kSealingKeyMs + kSealingKeyKeptMs).value();
  ASSERT_EQ(next.size(), 2U);
  EXPECT_EQ(next[1], both[0]);
  // After a long rest nothing old is left, in the answer or in the table.
  const auto late = store->sealing_keys.newest(kNow + 10 * kSealingKeyMs).value();
  ASSERT_EQ(late.size(), 1U);
  const auto database = Database::open(directory_ + "/hutch.db").value();
  Statement count = database->prepare("SELECT COUNT(*) FROM sealing_keys").value();
  ASSERT_TRUE(count.step().value());
  EXPECT_EQ(count.integer(), 1);
}

TEST_F(SealingKeysTest, OneIsMadeHoweverManyAsk) {
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

}  // namespace
