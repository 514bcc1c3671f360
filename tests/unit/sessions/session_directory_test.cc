// A session's directories are made as its row says, and a client gets behind read-only rules alone.
#include "sessions/session_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sessions {
namespace {

namespace fs = std::filesystem;
using base::Error;

class SessionDirectoryTest : public ::testing::Test {
 protected:
  SessionDirectoryTest() : top_(::testing::TempDir() + "hutch_session_directory_XXXXXX") {
    if (::mkdtemp(top_.data()) == nullptr) std::abort();
    fs::create_directories(files().path());
  }
  ~SessionDirectoryTest() override { fs::remove_all(top_); }

  [[nodiscard]] SessionDirectory files() const { return {top_, "session_a"}; }
  [[nodiscard]] std::string in_workspace(const std::string& path = "") const {
    return files().path() + "/workspace" + path;
  }
  // Where behind the rules the path is; empty: no rule covers it.
  std::string behind(const std::string& path) {
    const auto found = files().behind_rule(session_, path).value();
    return found ? found->path : "";
  }

  std::string top_;
  Session session_;
};

TEST_F(SessionDirectoryTest, WhatABoxNeedsIsMadeAndMadeAgainLosesNothing) {
  EXPECT_TRUE(files().make_parts(session_).value()) << "no box has been here";
  for (const char* part : {"/workspace", "/home", "/tmp", "/runs"}) {
    EXPECT_TRUE(fs::is_directory(files().path() + part)) << part;
  }
  std::ofstream(in_workspace("/kept.txt")) << "text";
  fs::remove(files().path() + "/tmp");  // as after a kill in between
  EXPECT_FALSE(files().make_parts(session_).value());
  EXPECT_EQ(fs::file_size(in_workspace("/kept.txt")), 4U);
  EXPECT_TRUE(fs::is_directory(files().path() + "/tmp"));
}

TEST_F(SessionDirectoryTest, ThePrefixOfNpmIsThereAndNeverMadeThroughALink) {
  ASSERT_TRUE(files().make_parts(session_).ok());
  const std::string local = files().path() + "/home/.local";
  EXPECT_TRUE(fs::is_directory(local + "/lib"));
  fs::remove_all(local);  // as of a session that was made before
  ASSERT_TRUE(files().make_parts(session_).ok());
  EXPECT_TRUE(fs::is_directory(local + "/lib"));
  fs::remove_all(local);
  fs::create_directory_symlink(files().workspace(), local);
  EXPECT_TRUE(files().make_parts(session_).ok());
  EXPECT_TRUE(fs::is_empty(files().workspace()));
  fs::remove(local);
  std::ofstream{local};
  EXPECT_TRUE(files().make_parts(session_).ok());
}

TEST_F(SessionDirectoryTest, NothingIsMadeOfASessionThatHasNoDirectory) {
  const SessionDirectory gone(top_, "session_gone");
  const auto made = gone.make_parts(session_);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, Error::Kind::kUnavailable);
  EXPECT_NE(made.error().message.find(gone.path()), std::string::npos) << made.error().message;
  EXPECT_FALSE(fs::exists(gone.path()));
}

TEST_F(SessionDirectoryTest, DirectoriesOfRulesForTheWorkspaceAreThereFromTheStart) {
  session_.paths = {.read_only = {"/workspace/data"},
                    .read_write = {"/workspace/out/today"},
                    .blocked = {"/workspace/secret", "/opt/tool"}};
  ASSERT_TRUE(files().make_parts(session_).ok());
  for (const char* path : {"/data", "/out/today", "/secret"}) {
    EXPECT_TRUE(fs::is_directory(in_workspace(path))) << path;
  }
  EXPECT_FALSE(fs::exists(in_workspace("/opt"))) << "it is not in the workspace";
  EXPECT_FALSE(fs::exists(files().path() + "/opt"));
}

TEST_F(SessionDirectoryTest, AFileThatARuleNamesStaysAFile) {
  ASSERT_TRUE(files().make_parts(session_).ok());
  std::ofstream(in_workspace("/notes.txt")) << "text";
  session_.paths.read_only = {"/workspace/notes.txt"};
  EXPECT_TRUE(files().make_parts(session_).ok());
  EXPECT_EQ(fs::file_size(in_workspace("/notes.txt")), 4U);
  session_.paths.read_write = {"/workspace/notes.txt/below"};
  EXPECT_FALSE(files().make_parts(session_).ok());
  EXPECT_EQ(fs::file_size(in_workspace("/notes.txt")), 4U);
}

TEST_F(SessionDirectoryTest, NoRuleMakesAnythingBehindALink) {
  const std::string elsewhere = top_ + "/elsewhere";
  fs::create_directory(elsewhere);
  ASSERT_TRUE(files().make_parts(session_).ok());
  fs::create_directory_symlink(elsewhere, in_workspace("/link"));
  session_.paths.read_write = {"/workspace/link/made"};
  EXPECT_FALSE(files().make_parts(session_).ok());
  fs::remove_all(in_workspace());
  fs::create_directory_symlink(elsewhere, in_workspace());
  session_.paths.read_write = {"/workspace/made"};
  EXPECT_FALSE(files().make_parts(session_).ok()) << "nor where the workspace itself is one";
  EXPECT_TRUE(fs::is_empty(elsewhere));
}

TEST_F(SessionDirectoryTest, AReadOnlyRuleCoversWhatItNamesAndAllBelow) {
  ASSERT_TRUE(files().make_parts(session_).ok());
  session_.paths.read_only = {"/workspace/data"};
  session_.paths.read_write = {"/workspace/out"};
  session_.paths.blocked = {"/workspace/secret"};
  EXPECT_EQ(behind("/workspace/data"), "/data");
  EXPECT_EQ(behind("/workspace/data/a/b"), "/data/a/b");
  for (const char* path : {"/workspace/database", "/workspace/dat", "/workspace", "/data/a",
                           "/workspace/out/a", "/workspace/secret/a", "/tmp/workspace/data"}) {
    EXPECT_EQ(behind(path), "") << path;
  }
}

TEST_F(SessionDirectoryTest, ARelativePathGoesFromTheSessionsWorkingDirectory) {
  ASSERT_TRUE(files().make_parts(session_).ok());
  session_.paths.read_only = {"/workspace/data"};
  EXPECT_EQ(behind("data/a"), "/data/a");
  session_.working_directory = "/home/user";
  EXPECT_EQ(behind("data/a"), "");
  session_.working_directory = "/workspace/data";
  EXPECT_EQ(behind("a"), "/data/a");
}

TEST_F(SessionDirectoryTest, ARuleCoversWhatAPathMeansHoweverItIsWritten) {
  ASSERT_TRUE(files().make_parts(session_).ok());
  session_.paths.read_only = {"/workspace/data"};
  fs::create_directories(in_workspace("/data/a"));
  fs::create_directory_symlink("/home", in_workspace("/data/link"));
  EXPECT_EQ(behind("/workspace//data/y"), "/data/y");
  EXPECT_EQ(behind("/workspace/./data/y"), "/data/y");
  EXPECT_EQ(behind("/workspace/data/a/../y"), "/data/y");
  EXPECT_EQ(behind("/workspace/data/../out/y"), "");
  EXPECT_EQ(behind("/workspace/data/../../tmp/x.txt"), "");
  EXPECT_EQ(behind("/workspace/data/link/../x"), "") << "only the box knows where that is";
  EXPECT_FALSE(files().behind_rule(session_, std::string("a\0b", 3)).ok());
}

TEST_F(SessionDirectoryTest, BehindARuleIsTheHostsWorkspaceAndNoOtherDirectory) {
  session_.paths.read_only = {"/workspace/data"};
  EXPECT_FALSE(files().behind_rule(session_, "/workspace/data/a").ok()) << "there is none yet";
  EXPECT_TRUE(files().behind_rule(session_, "/workspace/out").ok()) << "it needs none";
  ASSERT_TRUE(files().make_parts(session_).ok());
  const auto found = files().behind_rule(session_, "/workspace/data/a").value();
  struct stat given {};
  struct stat workspace {};
  ASSERT_EQ(::fstat(found->root.get(), &given), 0);
  ASSERT_EQ(::stat(in_workspace().c_str(), &workspace), 0);
  EXPECT_EQ(given.st_ino, workspace.st_ino);
  fs::rename(in_workspace(), top_ + "/moved");
  fs::create_directory_symlink(top_ + "/moved", in_workspace());
  EXPECT_FALSE(files().behind_rule(session_, "/workspace/data/a").ok()) << "a link leads elsewhere";
}

}  // namespace
}  // namespace sessions
