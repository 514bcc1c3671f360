// Which links are copied with a folder.
#include "tools/cli/folder_copy.h"

#include <gtest/gtest.h>

namespace {

using tools::cli::stays_below;

TEST(FolderCopy, LinksThatStayInIt) {
  EXPECT_TRUE(stays_below("link", "file"));
  EXPECT_TRUE(stays_below("link", "a/b//c/"));
  EXPECT_TRUE(stays_below("link", "./a/./b"));
  EXPECT_TRUE(stays_below("link", "."));
  EXPECT_TRUE(stays_below("a/link", ".."));
  EXPECT_TRUE(stays_below("node_modules/.bin/tsc", "../typescript/bin/tsc"));
  EXPECT_TRUE(stays_below("a/b/link", "./.././../c"));
  EXPECT_TRUE(stays_below("link", "..."));
}

TEST(FolderCopy, LinksThatLeadOutOfItOrMay) {
  EXPECT_FALSE(stays_below("link", ""));
  EXPECT_FALSE(stays_below("link", "/etc/passwd"));
  EXPECT_FALSE(stays_below("link", "//"));
  EXPECT_FALSE(stays_below("link", ".."));
  EXPECT_FALSE(stays_below("link", "./.."));
  EXPECT_FALSE(stays_below("a/link", "../.."));
  EXPECT_FALSE(stays_below("a/link", "../../a"));
  // One step down may be a link to somewhere else.
  EXPECT_FALSE(stays_below("link", "a/.."));
  EXPECT_FALSE(stays_below("a/b/link", "../c/../d"));
}

}  // namespace
