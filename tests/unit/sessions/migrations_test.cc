// Versions of the schema: in order, once, and never under a process that has the database open.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sessions/migrations.h"
#include "sessions/store.h"

namespace {

using namespace sessions;
namespace fs = std::filesystem;

TEST(Migrations, RunInOrderAndOnce) {
  std::string directory = ::testing::TempDir() + "hutch_migrate_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const auto database = Database::open(directory + "/db").value();
  const std::string_view one[] = {"CREATE TABLE a (n)"};
  const std::string_view two[] = {"CREATE TABLE a (n)", "ALTER TABLE a ADD COLUMN m"};
  ASSERT_TRUE(migrate(*database, one).ok());
  ASSERT_TRUE(migrate(*database, two).ok());
  ASSERT_TRUE(migrate(*database, two).ok());
  EXPECT_TRUE(database->execute("INSERT INTO a (n, m) VALUES (1, 2)").ok());
  EXPECT_FALSE(migrate(*database, one).ok()) << "newer than this build knows";
  fs::remove_all(directory);
}

TEST(Migrations, WaitForThoseWhoHaveItOpen) {
  std::string directory = ::testing::TempDir() + "hutch_migrate_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const std::string path = directory + "/db";
  const auto database = Database::open(path).value();
  const std::string_view one[] = {"CREATE TABLE a (n)"};
  const std::string_view two[] = {"CREATE TABLE a (n)", "ALTER TABLE a ADD COLUMN m"};
  const std::chrono::milliseconds at_once(0);
  auto older = migrate_alone(*database, path, one, at_once);
  ASSERT_TRUE(older.ok()) << older.error().message;
  EXPECT_TRUE(migrate_alone(*database, path, one, at_once).ok()) << "of the same version";
  const auto newer = migrate_alone(*database, path, two, at_once);
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().kind, base::Error::Kind::kConflict);
  EXPECT_NE(newer.error().message.find("older hutch"), std::string::npos) << newer.error().message;
  EXPECT_FALSE(database->execute("SELECT m FROM a").ok()) << "untouched";
  older.value().reset();
  const auto alone = migrate_alone(*database, path, two, at_once);
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  EXPECT_TRUE(database->execute("SELECT m FROM a").ok());
  // Says so at once, whoever has it open.
  const auto refused = migrate_alone(*database, path, one, std::chrono::hours(1));
  EXPECT_EQ(refused.error().kind, base::Error::Kind::kUnsupported);
  fs::remove_all(directory);
}

TEST(Migrations, OfManyWhoStartAtOnceOneDoesTheWork) {
  std::string directory = ::testing::TempDir() + "hutch_migrate_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  std::vector<std::jthread> servers;
  std::atomic<int> open = 0;
  for (int i = 0; i < 8; ++i) {
    servers.emplace_back([&] {
      const auto store = Store::open(directory + "/db");
      EXPECT_TRUE(store.ok()) << store.error().message;
      // Each has it open while the others try.
      for (++open; open < 8;) std::this_thread::yield();
    });
  }
  servers.clear();
  fs::remove_all(directory);
}

TEST(Migrations, AFailedStepLeavesTheOldVersion) {
  std::string directory = ::testing::TempDir() + "hutch_migrate_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const auto database = Database::open(directory + "/db").value();
  const std::string_view broken[] = {"CREATE TABLE a (n)", "CREATE TABLE b (n); NONSENSE"};
  EXPECT_FALSE(migrate(*database, broken).ok());
  const std::string_view mended[] = {"CREATE TABLE a (n)", "CREATE TABLE b (n)"};
  EXPECT_TRUE(migrate(*database, mended).ok());
  fs::remove_all(directory);
}

}  // namespace
