#include "tools/api/e2b/tree_watch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tools::api::e2b {
namespace {

namespace fs = std::filesystem;
using Kind = sandbox::files::DirectoryEvent::Kind;

class TreeWatchTest : public ::testing::Test {
 protected:
  TreeWatchTest() {
    std::string name = (fs::temp_directory_path() / "tree.XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    fs::create_directories(root_ / "workspace");
    fs::create_directories(root_ / "tmp");
    fd_ = base::open_file(AT_FDCWD, root_.string(), O_PATH | O_DIRECTORY).value();
    watch_ = TreeWatch::start(fd_.get(), "/workspace", TreeWatch::Depth::kAll).value();
  }
  ~TreeWatchTest() override { fs::remove_all(root_); }
  TreeWatchTest(const TreeWatchTest&) = delete;
  TreeWatchTest& operator=(const TreeWatchTest&) = delete;

  void write(const std::string& name) { std::ofstream(root_ / name) << "x"; }
  void make(const std::string& name) { fs::create_directories(root_ / name); }
  void move(const std::string& from, const std::string& to) {
    fs::rename(root_ / from, root_ / to);
  }

  // "+a" for what came, "=a" what was written, "-a" what was removed, "<a" what was moved away.
  std::vector<std::string> taken() {
    std::vector<std::string> all;
    for (const auto& event : watch_->take().value()) {
      all.push_back(std::string(1, "+=-<~"[static_cast<int>(event.kind)]) + event.name);
    }
    return all;
  }
  std::multiset<std::string> sorted() {
    const auto all = taken();
    return {all.begin(), all.end()};
  }

  fs::path root_;
  base::UniqueFd fd_;
  std::unique_ptr<TreeWatch> watch_;
};

using Sorted = std::multiset<std::string>;

TEST_F(TreeWatchTest, TellsWhatWasInANewDirectory) {
  make("workspace/b/c/d");
  EXPECT_EQ(taken(), (std::vector<std::string>{"+b", "+b/c", "+b/c/d"}));
  make("workspace/a");
  write("workspace/a/f");
  std::ofstream(root_ / "workspace/a/empty");
  EXPECT_EQ(sorted(), (Sorted{"+a", "+a/f", "=a/f", "+a/empty"}));
  write("workspace/b/c/d/e");
  EXPECT_EQ(sorted(), (Sorted{"+b/c/d/e", "=b/c/d/e"})) << "and nothing twice";
  EXPECT_TRUE(taken().empty());
}

TEST_F(TreeWatchTest, TellsWhatADirectoryBringsAlong) {
  make("tmp/t/u");
  write("tmp/t/u/v");
  move("tmp/t", "workspace/t");
  EXPECT_EQ(sorted(), (Sorted{"+t", "+t/u", "+t/u/v", "=t/u/v"}));
  move("workspace/t", "tmp/t");
  EXPECT_EQ(sorted(), (Sorted{"<t"}));
  write("tmp/t/u/w");
  (void)taken();
  move("tmp/t", "workspace/again");
  const auto events = sorted();
  for (const char* one : {"+again", "+again/u", "+again/u/v", "+again/u/w"}) {
    EXPECT_EQ(events.count(one), 1U) << one;
  }
  write("workspace/again/u/x");
  EXPECT_EQ(sorted(), (Sorted{"+again/u/x", "=again/u/x"})) << "under the name that it has now";
}

TEST_F(TreeWatchTest, OneThatCameTwiceIsToldAsItCameLast) {
  make("workspace/a");
  fs::remove(root_ / "workspace/a");
  make("workspace/a");
  write("workspace/a/f");
  EXPECT_EQ(taken(), (std::vector<std::string>{"+a", "-a", "+a", "+a/f", "=a/f"}));
}

// Directories that fill while they are looked into: what comes between is seen both ways.
TEST_F(TreeWatchTest, TellsNothingTwice) {
  constexpr int kMany = 100;
  std::jthread maker([this] {
    for (int i = 0; i < kMany; ++i) {
      const std::string name = "workspace/" + std::to_string(i);
      make(name + "/deep");
      write(name + "/deep/file");
      write(name + "/file");
    }
  });
  Sorted all;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const std::string last = "=" + std::to_string(kMany - 1) + "/file";
  while (!all.contains(last) && std::chrono::steady_clock::now() < deadline) {
    all.merge(sorted());
  }
  for (int i = 0; i < kMany; ++i) {
    const std::string name = std::to_string(i);
    for (const char* below : {"", "/deep", "/deep/file", "/file"}) {
      EXPECT_EQ(all.count("+" + name + below), 1U) << name << below;
    }
    EXPECT_GE(all.count("=" + name + "/deep/file"), 1U) << name;
    EXPECT_GE(all.count("=" + name + "/file"), 1U) << name;
  }
}

TEST_F(TreeWatchTest, FollowsNoLinkAndTellsOfNoDraft) {
  make("tmp/else");
  write("tmp/else/where");
  make("tmp/t");
  fs::create_symlink("/tmp/else", root_ / "tmp/t/link");
  fs::create_symlink("../..", root_ / "tmp/t/up");
  write("tmp/t/.hutch-0123");
  fs::create_symlink("/tmp/else", root_ / "workspace/link");
  move("tmp/t", "workspace/t");
  EXPECT_EQ(sorted(), (Sorted{"+link", "+t", "+t/link", "+t/up"}));
}

TEST_F(TreeWatchTest, NamesThatAreNoTextAreShownOneWay) {
  make("tmp/t/\xff");
  write("tmp/t/\xff/a\\b");
  move("tmp/t", "workspace/\xfe");
  EXPECT_EQ(sorted(),
            (Sorted{"+\\xFE", "+\\xFE/\\xFF", "+\\xFE/\\xFF/a\\\\b", "=\\xFE/\\xFF/a\\\\b"}));
  make("workspace/plain\\xFF/x");
  EXPECT_EQ(sorted(), (Sorted{"+plain\\xFF", "+plain\\xFF/x"}));
}

TEST_F(TreeWatchTest, HasABound) {
  make("tmp/t");
  for (std::size_t i = 0; i <= TreeWatch::kFoundMost; ++i) {
    std::ofstream(root_ / "tmp/t" / std::to_string(i));
  }
  move("tmp/t", "workspace/t");
  const auto events = watch_->take();
  ASSERT_FALSE(events.ok());
  EXPECT_EQ(events.error().kind, base::Error::Kind::kLimit);
}

TEST_F(TreeWatchTest, OfOneDirectoryItTellsNothingBelow) {
  watch_ = TreeWatch::start(fd_.get(), "/workspace", TreeWatch::Depth::kOne).value();
  make("workspace/b/c");
  EXPECT_EQ(taken(), (std::vector<std::string>{"+b"}));
}

}  // namespace
}  // namespace tools::api::e2b
