// Which folders and path rules a client may choose. What boxes get of them:
// granted_folders_test.cc.
#include "sessions/filesystem_choice.h"

#include <gtest/gtest.h>

namespace sessions {
namespace {

GrantedFolders granted_folders(bool unasked = false) {
  GrantedFolders folders;
  folders.all = {{"a", "/srv/a", true, {}, 1, 1}, {"b", "/srv/b", false, {}, 1, 2}};
  folders.unasked = unasked;
  folders.look_again = [](const sandbox::HostFolder& folder) {
    return base::Result<sandbox::HostFolder>(folder);
  };
  return folders;
}

TEST(FilesystemChoice, AnEmptyListIsAChoiceAndNoneIsNot) {
  EXPECT_FALSE(choose_folders({}, granted_folders(true)).value());
  EXPECT_TRUE(choose_folders({.read_only = {{}}}, granted_folders(true)).value()->empty());
  EXPECT_EQ(choose_folders({.blocked = {{"/mnt/a/x"}}}, granted_folders(true)).value()->size(), 2U);
  EXPECT_EQ(granted_now(std::nullopt, granted_folders(true)).folders.size(), 2U);
  EXPECT_TRUE(granted_now(std::nullopt, granted_folders()).folders.empty());
}

TEST(FilesystemChoice, RulesOfTheWorkspaceSayNothingOfFolders) {
  const FilesystemWish wish{.read_only = {{"/workspace/data/"}}, .blocked = {{"/etc/hosts"}}};
  EXPECT_EQ(choose_folders(wish, granted_folders(true)).value()->size(), 2U);
  const sandbox::PathRules rules = choose_paths(wish).value();
  EXPECT_EQ(rules.read_only, std::vector<std::string>{"/workspace/data"});
  EXPECT_EQ(rules.blocked, std::vector<std::string>{"/etc/hosts"});
}

TEST(FilesystemChoice, WhatIsBlockedInAFolderIsAPlainPathBelowIt) {
  for (const char* path : {"/mnt/a/../b", "/mnt/a/x/..", "/mnt/a/./x", "/mnt/a//x"}) {
    const auto chosen = choose_folders({.blocked = {{path}}}, granted_folders(true));
    ASSERT_FALSE(chosen.ok()) << path;
    EXPECT_NE(chosen.error().message.find("must be a plain path"), std::string::npos);
  }
}

TEST(FilesystemChoice, EntriesAreBoundedInNumberAndLength) {
  const std::vector<std::string> many(sandbox::kHostFoldersMax + 1, "/workspace/x");
  for (const auto& entries : {many, {std::string(2000, 'x')}, {std::string("a\0b", 3)}}) {
    EXPECT_FALSE(choose_folders({.read_only = entries}, granted_folders()).ok());
    EXPECT_FALSE(choose_paths({.read_write = entries}).ok());
    EXPECT_FALSE(choose_paths({.blocked = entries}).ok());
  }
}

TEST(FilesystemChoice, WhatIsGrantedForReadingNowIsReadOnlyNow) {
  const auto chosen = choose_folders({.read_write = {{"a"}}}, granted_folders()).value();
  GrantedFolders less = granted_folders();
  less.all[0].writable = false;
  const FoldersNow now = granted_now(chosen, less);
  ASSERT_EQ(now.folders.size(), 1U);
  EXPECT_FALSE(now.folders[0].writable);
  EXPECT_NE(now.note.find("/mnt/a is read-only now"), std::string::npos);
}

}  // namespace
}  // namespace sessions
