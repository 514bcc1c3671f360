// Tests what is heard of files, by whatever way they change, and what is not.
#include "sandbox/files/change_feed.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <set>
#include <string>

#include "tests/unit/sandbox/files_fixture.h"

namespace files_test {

using sandbox::files::ChangeFeed;
using Names = std::set<std::string>;

class ChangeFeedTest : public FilesTest {
 protected:
  ChangeFeedTest() { EXPECT_TRUE(feed.valid()); }

  bool follow(const std::string& path) { return files().follow(path, path, feed); }
  void rename(const std::string& from, const std::string& to) const {
    fs::rename(host(from), host(to));
  }

  ChangeFeed feed;
};

TEST_F(ChangeFeedTest, EveryWayToChangeAFileIsHeardOf) {
  put("/workspace/a", "1");
  ASSERT_TRUE(follow("/workspace/a"));
  EXPECT_EQ(feed.take(), Names{});
  const Names a{"/workspace/a"};
  put("/workspace/a", "2");
  EXPECT_EQ(feed.take(), a);
  EXPECT_EQ(feed.take(), Names{});
  fs::permissions(host("/workspace/a"), fs::perms::owner_read);
  EXPECT_EQ(feed.take(), a);
  put("/workspace/b", "3");
  EXPECT_EQ(feed.take(), Names{});  // another file
  rename("/workspace/b", "/workspace/a");
  EXPECT_EQ(feed.take(), a);
  // The new one is not the one that was followed: its directory tells.
  put("/workspace/a", "4");
  EXPECT_EQ(feed.take(), a);
  fs::remove(host("/workspace/a"));
  EXPECT_EQ(feed.take(), a);
  put("/workspace/a", "5");
  EXPECT_EQ(feed.take(), a);
}

TEST_F(ChangeFeedTest, AChangeThatWasUndoneIsHeardOf) {
  put("/workspace/a", "1");
  ASSERT_TRUE(follow("/workspace/a"));
  rename("/workspace/a", "/workspace/b");
  rename("/workspace/b", "/workspace/a");
  EXPECT_EQ(feed.take(), Names{"/workspace/a"});
}

TEST_F(ChangeFeedTest, WhatIsReadIsNotChanged) {
  put("/workspace/dir/a", "1");
  ASSERT_TRUE(follow("/workspace/dir/a"));
  ASSERT_TRUE(follow("/workspace/dir"));
  EXPECT_EQ(get("/workspace/dir/a"), "1");
  ListOptions all;
  all.recursive = true;
  EXPECT_TRUE(files().list("/workspace", all).ok());
  EXPECT_TRUE(files().open("/workspace/dir/a").ok());
  EXPECT_EQ(feed.take(), Names{});
}

TEST_F(ChangeFeedTest, DirectoriesTellOfTheirEntries) {
  put("/workspace/dir/a", "1");
  ASSERT_TRUE(follow("/workspace/dir"));
  put("/workspace/dir/b", "1");
  EXPECT_EQ(feed.take(), Names{"/workspace/dir"});
  put("/workspace/dir/a", "2");
  EXPECT_EQ(feed.take(), Names{"/workspace/dir"});
}

TEST_F(ChangeFeedTest, WhatDoesNotExistYetIsHeardOfWhenItComes) {
  ASSERT_TRUE(follow("/workspace/x/y/z"));
  fs::create_directories(host("/workspace/x"));
  EXPECT_EQ(feed.take(), Names{"/workspace/x/y/z"});
  ASSERT_TRUE(follow("/workspace/x/y/z"));
  fs::create_directories(host("/workspace/x/y"));
  EXPECT_EQ(feed.take(), Names{"/workspace/x/y/z"});
  ASSERT_TRUE(follow("/workspace/x/y/z"));
  put("/workspace/x/y/z", "1");
  EXPECT_EQ(feed.take(), Names{"/workspace/x/y/z"});
}

TEST_F(ChangeFeedTest, AReplacedDirectoryIsFollowedAnew) {
  put("/workspace/a/b/c", "1");
  put("/workspace/other/b/c", "2");
  ASSERT_TRUE(follow("/workspace/a/b/c"));
  rename("/workspace/a", "/workspace/old");
  rename("/workspace/other", "/workspace/a");
  EXPECT_EQ(feed.take(), Names{"/workspace/a/b/c"});
  ASSERT_TRUE(follow("/workspace/a/b/c"));
  EXPECT_EQ(feed.take(), Names{});
  put("/workspace/old/b/c", "1, again");
  EXPECT_EQ(feed.take(), Names{});  // it has nothing to do with the path any more
  put("/workspace/a/b/c", "2, again");
  EXPECT_EQ(feed.take(), Names{"/workspace/a/b/c"});
}

TEST_F(ChangeFeedTest, LinksLeadToWhatTheyLeadToInsideOnly) {
  put("/home/user/real", "1");
  link("/home/user/real", "/workspace/link");
  // Its directory could be replaced unheard.
  EXPECT_FALSE(follow("/workspace/link"));
  put("/home/user/real", "2");
  EXPECT_EQ(feed.take(), Names{"/workspace/link"});
  link(outside("canary"), "/workspace/out");
  EXPECT_FALSE(follow("/workspace/out"));
  link("/proc/self/root", "/workspace/root");
  EXPECT_FALSE(follow("/workspace/root" + outside("canary")));
  (void)feed.take();
  put_at(outside("canary"), kCanary + "!");
  put_at(outside("new"), "");
  EXPECT_EQ(feed.take(), Names{});
}

TEST_F(ChangeFeedTest, WhatIsForgottenIsSilentAndTheRestGoesOn) {
  put("/workspace/a", "1");
  ASSERT_TRUE(follow("/workspace/a"));
  ASSERT_TRUE(files().follow("the same", "/workspace/../workspace/a", feed));
  put("/workspace/a", "2");
  EXPECT_EQ(feed.take(), (Names{"/workspace/a", "the same"}));
  feed.forget("/workspace/a");
  put("/workspace/a", "3");
  EXPECT_EQ(feed.take(), Names{"the same"});
  feed.forget("the same");
  put("/workspace/a", "4");
  pollfd entry{feed.fd(), POLLIN, 0};
  EXPECT_EQ(feed.take(), Names{});
  // Nothing is watched any more, so nothing wakes anybody.
  put("/workspace/a", "5");
  EXPECT_EQ(::poll(&entry, 1, 0), 0);
}

TEST_F(ChangeFeedTest, ManyFilesAreBounded) {
  std::size_t whole = 0;
  for (std::size_t i = 0; i < sandbox::files::kFeedWatchesMax + 10; ++i) {
    const std::string path = "/workspace/" + std::to_string(i);
    put(path, "1");
    whole += follow(path) ? 1 : 0;
  }
  // Root and workspace take one each.
  EXPECT_EQ(whole, sandbox::files::kFeedWatchesMax - 2);
  (void)feed.take();
  // Files that found no room are still heard of through their directory.
  const std::string last = "/workspace/" + std::to_string(sandbox::files::kFeedWatchesMax + 9);
  put(last, "2");
  EXPECT_EQ(feed.take(), Names{last});
}

TEST_F(ChangeFeedTest, MoreThanTheKernelKeepsIsNewsForAll) {
  put("/workspace/a", "1");
  put("/workspace/b", "1");
  ASSERT_TRUE(follow("/workspace/a"));
  ASSERT_TRUE(follow("/workspace/b"));
  std::ifstream bound("/proc/sys/fs/inotify/max_queued_events");
  std::size_t events = 0;
  ASSERT_TRUE(bound >> events);
  // Names that take turns: equal events in a row are one.
  for (std::size_t i = 0; i <= events; ++i) {
    rename(i % 2 == 0 ? "/workspace/a" : "/workspace/c",
           i % 2 == 0 ? "/workspace/c" : "/workspace/a");
  }
  EXPECT_EQ(feed.take(), (Names{"/workspace/a", "/workspace/b"}));
}

}  // namespace files_test
