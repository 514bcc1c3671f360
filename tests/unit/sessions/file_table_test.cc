// Records of files: what was done to each path since then, and that nothing of them stays for long.
#include "sessions/file_table.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <optional>
#include <string>

#include "sessions/past_table.h"
#include "sessions/store.h"
#include "sessions/store_file.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

class FileTableTest : public testing::StoreFixture {
 protected:
  using Changes = std::map<std::string, std::string>;

  void record(const Session& owner, const std::string& path, const std::string& change,
              std::int64_t at) {
    ASSERT_TRUE(
        store_->files.record({owner.id, std::nullopt, path, change, 1, std::nullopt, at}).ok());
  }
  // Returns what was done to "a" since then; empty: nothing.
  std::string change_of_a(const Session& owner, std::int64_t since) {
    const auto changes = store_->files.changes(owner.id, since, {"a"}).value();
    return changes.empty() ? "" : changes.at("a");
  }
  std::int64_t rows_of(const Session& owner) {
    return number_of("SELECT count(*) FROM files WHERE session_id = '" + owner.id + "'");
  }
};

TEST_F(FileTableTest, ARecordIsKeptWhole) {
  const Session owner = created();
  const sessions::Run run = inserted(owner);
  ASSERT_TRUE(store_->files.record({owner.id, run.id, "a", "created", 7, "abc", 5}).ok());
  EXPECT_EQ(number_of("SELECT count(*) FROM files WHERE session_id = '" + owner.id +
                      "' AND run_id = '" + run.id +
                      "' AND path = 'a' AND change = 'created' AND bytes = 7 AND sha256 = 'abc' "
                      "AND recorded_at = 5"),
            1);
  EXPECT_FALSE(
      store_->files.record({owner.id, std::nullopt, "a", "renamed", 7, std::nullopt, 5}).ok());
  EXPECT_EQ(rows_of(owner), 1);
}

TEST_F(FileTableTest, OnlyPathsThatAreAskedForAndHaveChangedAreTold) {
  const Session owner = created();
  const Session other = created();
  record(owner, "a", "created", 5);
  record(owner, "b", "deleted", 5);
  record(other, "c", "created", 5);
  EXPECT_EQ(store_->files.changes(owner.id, 0, {"a", "c", "d"}).value(),
            (Changes{{"a", "created"}}));
  EXPECT_EQ(store_->files.changes(owner.id, 0, {"a", "b"}).value(),
            (Changes{{"a", "created"}, {"b", "deleted"}}));
  EXPECT_TRUE(store_->files.changes(owner.id, 0, {}).value().empty());
  EXPECT_TRUE(store_->files.changes("nobody", 0, {"a"}).value().empty());
}

TEST_F(FileTableTest, OnlyWhatWasDoneSinceThenCounts) {
  const Session owner = created();
  record(owner, "a", "created", 10);
  record(owner, "a", "modified", 20);
  EXPECT_EQ(change_of_a(owner, 10), "created");
  EXPECT_EQ(change_of_a(owner, 11), "modified") << "it was there then";
  EXPECT_EQ(change_of_a(owner, 20), "modified");
  EXPECT_EQ(change_of_a(owner, 21), "");
}

TEST_F(FileTableTest, WhatBecameOfAFileIsSaidInOneWord) {
  const Session owner = created();
  std::int64_t at = 0;
  const auto expect = [&](const std::string& change, const std::string& told) {
    record(owner, "a", change, ++at);
    EXPECT_EQ(change_of_a(owner, 0), told) << change << " at " << at;
  };
  expect("modified", "modified");
  expect("deleted", "deleted");
  expect("created", "created");
  expect("modified", "created");  // it was made, and then changed
  expect("modified", "created");
  expect("deleted", "deleted");
  expect("modified", "modified");  // somebody else has made it again
  expect("created", "created");
}

TEST_F(FileTableTest, OfTheSameMillisecondTheLastOneCounts) {
  const Session owner = created();
  record(owner, "a", "created", 5);
  record(owner, "a", "deleted", 5);
  EXPECT_EQ(change_of_a(owner, 5), "deleted");
  record(owner, "a", "created", 5);
  EXPECT_EQ(change_of_a(owner, 5), "created");
  record(owner, "a", "modified", 5);
  EXPECT_EQ(change_of_a(owner, 5), "created");
}

TEST_F(FileTableTest, MorePathsThanOneTurnHasAreAllTold) {
  const Session owner = created();
  std::set<std::string> paths;
  Changes expected;
  for (std::int64_t i = 0; i < 2 * kRowsAtOnce + 1; ++i) {
    const std::string path = std::to_string(i);
    paths.insert(path);
    if (i % 2 == 1) continue;
    expected[path] = "created";
    record(owner, path, "created", 5);
  }
  EXPECT_EQ(store_->files.changes(owner.id, 0, paths).value(), expected);
}

TEST_F(FileTableTest, RecordsOfADestroyedSessionGoAllAndNoOthers) {
  const Session owner = created();
  const Session other = created();
  for (std::int64_t i = 0; i < kRowsAtOnce + 1; ++i) record(owner, "a", "modified", i);
  record(other, "a", "created", 1);
  ASSERT_TRUE(store_->files.remove_of(owner.id).ok());
  EXPECT_EQ(rows_of(owner), kRowsAtOnce + 1) << "it is not destroyed";
  destroy(owner);
  ASSERT_TRUE(store_->files.remove_of(owner.id).ok());
  EXPECT_EQ(rows_of(owner), 0);
  EXPECT_EQ(rows_of(other), 1);
}

TEST_F(FileTableTest, NothingIsRecordedOfABuriedSessionOrOfNone) {
  const Session owner = created();
  destroy(owner);
  record(owner, "a", "created", 1);
  EXPECT_EQ(rows_of(owner), 1) << "it is not buried yet";
  ASSERT_TRUE(store_->past.set_buried(owner.id).ok());
  record(owner, "a", "created", 1);
  EXPECT_EQ(rows_of(owner), 0);
  Session nobody;
  nobody.id = "nobody";
  record(nobody, "a", "created", 1);
  EXPECT_EQ(number_of("SELECT count(*) FROM files"), 0);
}

}  // namespace
}  // namespace sessions
