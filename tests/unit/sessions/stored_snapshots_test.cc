// Snapshots of a session are found by its languages, and one that cannot be read is told, not
// passed over.
#include "sessions/stored_snapshots.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "sessions/session_directory.h"
#include "tests/support/temporary_directory.h"

namespace sessions {
namespace {

class StoredSnapshotsTest : public ::testing::Test {
 protected:
  void store(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(files_.state());
    std::ofstream(files_.state() + "/" + name) << content;
  }
  // As the runners write one.
  static std::string snapshot(const std::string& index, const std::string& magic) {
    const std::string before = magic + index;
    return before + number(index.size()) + number(before.size()) + std::string(32, 's') + magic;
  }
  static std::string number(std::uint64_t value) {
    std::string bytes;
    for (int i = 0; i < 8; ++i, value >>= 8) bytes += static_cast<char>(value & 0xff);
    return bytes;
  }

  const TemporaryDirectory directory_;
  const SessionDirectory files_{directory_.path(), "session_1"};
};

TEST_F(StoredSnapshotsTest, WhereNothingWasStoredThereAreNone) {
  EXPECT_TRUE(stored_snapshots(files_).empty());
  store("bash.0", "#1\n#1\n");
  EXPECT_TRUE(stored_snapshots(files_).empty()) << "a shell has none";
  EXPECT_TRUE(snapshots_set_aside(files_).empty());
}

TEST_F(StoredSnapshotsTest, EachLanguageHasItsOwn) {
  store("javascript", snapshot(R"({"notKept": {"f": ["Function", "why"]}})", "hutchjs1"));
  store("python", snapshot(R"({"not_kept": {"c": ["Connection", "no"]}})", "hutchst1"));
  const auto found = stored_snapshots(files_);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].language, "python");
  EXPECT_EQ(found[1].language, "javascript");
  ASSERT_TRUE(found[0].index.ok() && found[1].index.ok());
  EXPECT_EQ(found[0].index.value().not_stored.words,
            std::vector<std::string>{"c (Connection: no)"});
  EXPECT_EQ(found[1].index.value().not_stored.words, std::vector<std::string>{"f (Function: why)"});
}

TEST_F(StoredSnapshotsTest, WhatWasSetAsideIsNotWhatTheNextInterpreterReads) {
  store("python.bad", snapshot("{}", "hutchst1"));
  EXPECT_TRUE(stored_snapshots(files_).empty());
  const auto aside = snapshots_set_aside(files_);
  ASSERT_EQ(aside.size(), 1U);
  EXPECT_EQ(aside[0].language, "python");
}

TEST_F(StoredSnapshotsTest, OneThatCannotBeReadIsNamed) {
  store("python", "no snapshot");
  std::filesystem::create_directory(files_.state() + "/javascript");
  const auto found = stored_snapshots(files_);
  ASSERT_EQ(found.size(), 2U);
  for (const StoredSnapshot& one : found) {
    ASSERT_FALSE(one.index.ok()) << one.language;
    EXPECT_NE(one.index.error().kind, base::Error::Kind::kNotFound);
  }
}

}  // namespace
}  // namespace sessions
