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
#include "sessions/network_table.h"
#include "sessions/sqlite.h"
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
  const auto from_nothing = Database::open(directory + "/new").value();
  ASSERT_TRUE(migrate(*from_nothing, two, [](std::size_t step, std::size_t) {
                ADD_FAILURE() << step;
              }).ok());
  std::vector<std::size_t> told;
  const auto tell = [&told](std::size_t step, std::size_t steps) { told = {step, steps}; };
  ASSERT_TRUE(migrate(*database, one, tell).ok());
  EXPECT_TRUE(told.empty()) << "it was made from nothing";
  ASSERT_TRUE(migrate(*database, two, tell).ok());
  EXPECT_EQ(told, (std::vector<std::size_t>{1, 1}));
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

TEST(Migrations, RequestsOfBeforeBelongToTheirPrincipals) {
  std::string directory = ::testing::TempDir() + "hutch_migrate_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  {
    const auto database = Database::open(directory + "/db").value();
    ASSERT_TRUE(migrate(*database, migrations().first(15)).ok());
    for (const char* sql :
         {"INSERT INTO principals VALUES ('p1', 'one', 0), ('p2', 'two', 0)",
          "INSERT INTO sessions (id, principal_id, template, status, ends_with_connection, limits, "
          "env, idle_seconds, retention_seconds, created_at, last_used_at) SELECT 's' || id, id, "
          "'host', 'ready', 0, '{}', '{}', 1, 1, 0, 0 FROM principals",
          "INSERT INTO network_requests SELECT id, 5, 'allowed', 'a.test', 443, '', '', 0, '', '', "
          "1, 2, 3, 0 FROM sessions",
          "INSERT INTO network_requests SELECT id, 6, 'refused', 'b.test', 443, '', '', 0, '', '', "
          "0, 0, 0, 0 FROM sessions WHERE principal_id = 'p2'",
          "INSERT INTO network_requests SELECT session_id, 7, 'refused', 'b.test', 443, '', '', 0, "
          "'', '', 0, 0, 0, 0 FROM network_requests WHERE number = 6"}) {
      ASSERT_TRUE(database->execute(sql).ok()) << sql;
    }
  }
  const auto store = Store::open(directory + "/db").value();
  EXPECT_EQ(store->network.requests({}).value().size(), 4);
  EXPECT_FALSE(store->network.request("sp1", 5).value()->request.is_open);
  // With room for four, whoever has three gives way.
  sandbox::JournalEntry entry;
  entry.request.number = 8;
  entry.request.verdict = "allowed";
  entry.end = 1;
  EXPECT_TRUE(store->network.take_journal("sp1", 0, {entry}, 4).value());
  EXPECT_EQ(store->network.requests({.session = "sp1"}).value().size(), 2);
  EXPECT_EQ(store->network.requests({.session = "sp2"}).value().size(), 2);
  fs::remove_all(directory);
}

}  // namespace
