// The database's connection: what is bound comes back, a transaction is whole or never was, and a
// failure has the kind that its caller goes by.
#include "sessions/sqlite.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace sessions {
namespace {

using Kind = base::Error::Kind;

class SqliteTest : public ::testing::Test {
 protected:
  SqliteTest() {
    EXPECT_TRUE(database_->execute("CREATE TABLE t (a UNIQUE, b)").ok());
    database_->observe([this](auto, const base::Error* failure) {
      heard_.push_back(failure == nullptr ? "changed" : failure->message);
    });
  }
  [[nodiscard]] std::string path() const { return directory_.path() + "/db"; }
  std::int64_t rows() {
    Statement count = database_->prepare("SELECT count(*) FROM t").value();
    EXPECT_TRUE(count.step().value());
    return count.integer();
  }
  base::Status insert(int number) {
    Statement statement = TRY(database_->prepare("INSERT INTO t VALUES (?, NULL)"));
    return statement.bind(number).run();
  }

  const TemporaryDirectory directory_;
  std::unique_ptr<Database> database_ = Database::open(path()).value();
  std::vector<std::string> heard_;
};

TEST_F(SqliteTest, WhatIsBoundComesBack) {
  const std::string text("a\0b", 3);
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  Statement select = database_->prepare("SELECT ?, ?, ?, ?, ?, ?").value();
  select.bind(text).bind(least).bind(true).bind_null();
  select.bind(std::optional<std::string>()).bind(std::optional<std::string>(""));
  ASSERT_TRUE(select.step().value());
  EXPECT_EQ(select.text(), text);
  EXPECT_EQ(select.integer(), least);
  EXPECT_EQ(select.integer(), 1);
  EXPECT_EQ(select.optional_integer(), std::nullopt);
  EXPECT_EQ(select.optional_text(), std::nullopt);
  EXPECT_EQ(select.optional_text(), "") << "empty is not nothing";
  EXPECT_FALSE(select.step().value()) << "there is one row";
}

TEST_F(SqliteTest, AStatementThatIsPreparedAgainKnowsNothingOfBefore) {
  constexpr const char* kSelect = "SELECT ?, ?";
  {
    Statement first = database_->prepare(kSelect).value();
    ASSERT_TRUE(first.bind("a").bind("b").step().value());
    const Statement moved = std::move(first);
  }
  Statement second = database_->prepare(kSelect).value();
  ASSERT_TRUE(second.bind("c").step().value());
  EXPECT_EQ(second.text(), "c");
  EXPECT_EQ(second.optional_text(), std::nullopt);
}

TEST_F(SqliteTest, WhatTheCallerHasGivenIsAConflictAndNoFailureOfTheDatabase) {
  ASSERT_TRUE(insert(1).ok());
  const base::Status again = insert(1);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, Kind::kConflict);
  EXPECT_EQ(heard_, std::vector<std::string>{"changed"});
  const auto wrong = database_->prepare("SELECT a FROM nowhere");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().kind, Kind::kInternal);
  EXPECT_NE(wrong.error().message.find("nowhere"), std::string::npos);
}

TEST_F(SqliteTest, ATransactionThatIsNotCommittedNeverHappened) {
  {
    const Transaction transaction = Transaction::begin(*database_).value();
    ASSERT_TRUE(insert(1).ok());
    EXPECT_EQ(database_->changed_rows(), 1);
  }
  EXPECT_EQ(rows(), 0);
  EXPECT_TRUE(heard_.empty());
  Transaction begun = Transaction::begin(*database_).value();
  Transaction transaction = std::move(begun);
  ASSERT_TRUE(insert(1).ok() && insert(2).ok());
  ASSERT_TRUE(transaction.commit().ok());
  EXPECT_EQ(rows(), 2);
  EXPECT_EQ(heard_, std::vector<std::string>{"changed"}) << "it became true once";
}

TEST_F(SqliteTest, ATransactionWithinAnotherFailsAndLeavesTheFirst) {
  Transaction transaction = Transaction::begin(*database_).value();
  ASSERT_TRUE(insert(1).ok());
  EXPECT_FALSE(Transaction::begin(*database_).ok());
  EXPECT_EQ(heard_.size(), 1U) << "a failure is told";
  ASSERT_TRUE(transaction.commit().ok());
  EXPECT_EQ(rows(), 1);
}

TEST_F(SqliteTest, AFullDatabaseIsALimitThatNamesTheDisk) {
  ASSERT_TRUE(database_->execute("PRAGMA max_page_count = 8").ok());
  const auto full = database_->execute("INSERT INTO t VALUES (1, zeroblob(100000))");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().kind, Kind::kLimit);
  EXPECT_EQ(full.error().os_errno, ENOSPC);
  EXPECT_NE(full.error().message.find("is full"), std::string::npos);
  EXPECT_EQ(rows(), 0);
}

TEST_F(SqliteTest, TheFileIsItsOwnersAloneAndNoLink) {
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  std::filesystem::create_symlink(path(), directory_.path() + "/link");
  EXPECT_FALSE(Database::open(directory_.path() + "/link").ok());
  EXPECT_FALSE(Database::open(directory_.path() + "/none/db").ok());
  directory_.write("text", std::string(4096, 'x'));
  const auto damaged = Database::open(directory_.path() + "/text");
  ASSERT_FALSE(damaged.ok());
  EXPECT_NE(damaged.error().message.find("is damaged"), std::string::npos);
}

TEST_F(SqliteTest, ANewDatabaseGivesPagesBackAndAnOldOneLearnsIt) {
  EXPECT_TRUE(database_->is_shrinkable().value());
  const auto old = Database::open(directory_.path() + "/old").value();
  ASSERT_TRUE(old->execute("PRAGMA auto_vacuum = NONE; VACUUM; CREATE TABLE t (a)").ok());
  // In WAL alone a change of auto_vacuum stays out of the file.
  ASSERT_TRUE(old->execute("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM").ok());
  ASSERT_FALSE(old->is_shrinkable().value());
  EXPECT_TRUE(old->make_shrinkable());
  EXPECT_TRUE(old->is_shrinkable().value());
}

TEST_F(SqliteTest, TheLogIsEmptiedUnlessSomebodyReads) {
  ASSERT_TRUE(insert(1).ok());
  const auto other = Database::open(path()).value();
  {
    Statement reading = other->prepare("SELECT a FROM t").value();
    ASSERT_TRUE(reading.step().value());
    EXPECT_FALSE(database_->empty_log());
  }
  EXPECT_TRUE(database_->empty_log());
  EXPECT_EQ(std::filesystem::file_size(path() + "-wal"), 0U);
}

}  // namespace
}  // namespace sessions
