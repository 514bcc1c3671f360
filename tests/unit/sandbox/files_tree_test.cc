// Counting and removing whole trees.
#include <fcntl.h>
#include <sys/mount.h>

#include <atomic>
#include <thread>

#include "tests/unit/sandbox/files_fixture.h"

namespace {

using namespace files_test;
using sandbox::files::remove_tree;

constexpr base::WorkBudget::Bounds kAmple{.steps = 1'000'000, .cpu_time = std::chrono::minutes(10)};

sandbox::files::TreeUsage tree_usage(int directory_fd, std::int64_t files_max) {
  base::WorkBudget budget(kAmple);
  return sandbox::files::tree_usage(directory_fd, files_max, budget);
}

class FilesTree : public FilesTest {
 protected:
  [[nodiscard]] base::UniqueFd workspace() const {
    return base::UniqueFd(::open(host("/workspace").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  // d/d/d/... of directories, a file in the deepest.
  void make_deep(const std::string& path, int levels) const {
    fs::create_directory(host(path));
    base::UniqueFd here(::open(host(path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < levels; ++i) {
      ASSERT_EQ(::mkdirat(here.get(), "d", 0755), 0);
      here = base::UniqueFd(::openat(here.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    const base::UniqueFd file(::openat(here.get(), "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    ASSERT_TRUE(file.valid());
  }
};

// A file of many names is one, and looking at each of them costs time all the same.
TEST_F(FilesTree, UsageLooksAtNoMoreNamesThanItsBudgetSays) {
  put("/workspace/file", "x");
  for (int i = 0; i < 50; ++i) {
    fs::create_hard_link(host("/workspace/file"), host("/workspace/link" + std::to_string(i)));
  }
  base::WorkBudget enough({.steps = 51, .cpu_time = std::chrono::minutes(10)});
  const auto whole = sandbox::files::tree_usage(workspace().get(), 1000, enough);
  EXPECT_EQ(whole.files, 1);
  EXPECT_FALSE(whole.truncated);
  EXPECT_FALSE(enough.spent());
  base::WorkBudget little({.steps = 50, .cpu_time = std::chrono::minutes(10)});
  EXPECT_TRUE(sandbox::files::tree_usage(workspace().get(), 1000, little).truncated);
  EXPECT_TRUE(little.spent());
}

TEST_F(FilesTree, UsageTellsWhatHasChangedSinceATime) {
  const auto changed_ns = [this](const char* path) {
    struct stat status {};
    EXPECT_EQ(::stat(host(path).c_str(), &status), 0);
    return status.st_ctim.tv_sec * std::int64_t{1'000'000'000} + status.st_ctim.tv_nsec;
  };
  put("/workspace/old", std::string(100'000, 'x'));
  const std::int64_t since_ns = changed_ns("/workspace/old");
  do {
    put("/workspace/new", std::string(50'000, 'x'));
  } while (changed_ns("/workspace/new") == since_ns);
  const auto usage_since = [this](std::int64_t ns) {
    base::WorkBudget budget({.steps = 1000, .cpu_time = std::chrono::minutes(10)});
    return sandbox::files::tree_usage(workspace().get(), 1000, budget, {}, ns);
  };
  const auto usage = usage_since(since_ns);
  EXPECT_EQ(usage.files, 2);
  EXPECT_EQ(usage.changed_files, 1);
  EXPECT_GE(usage.changed_bytes, 50'000);
  EXPECT_LT(usage.changed_bytes, usage.bytes - 50'000);
  EXPECT_EQ(usage_since(0).changed_files, 0) << "nobody asks";
}

TEST_F(FilesTree, UsageCountsBlocksAndInodes) {
  put("/workspace/a/b/c", std::string(100'000, 'x'));
  put("/workspace/d", "");
  ASSERT_EQ(::truncate(host("/workspace/d").c_str(), std::int64_t{1} << 40), 0);
  const auto usage = tree_usage(workspace().get(), 1000);
  EXPECT_EQ(usage.files, 4);
  EXPECT_GE(usage.bytes, 100'000);
  EXPECT_LT(usage.bytes, 200'000);
  EXPECT_FALSE(usage.truncated);
  EXPECT_EQ(usage.unreadable, 0);
}

TEST_F(FilesTree, UsageCountsHardLinksOnce) {
  put("/workspace/a", std::string(100'000, 'x'));
  for (const char* name : {"b", "c"}) {
    fs::create_hard_link(host("/workspace/a"), host(std::string("/workspace/") + name));
  }
  const auto usage = tree_usage(workspace().get(), 1000);
  EXPECT_EQ(usage.files, 1);
  EXPECT_LT(usage.bytes, 200'000);
}

TEST_F(FilesTree, UsageStopsAtTheLimit) {
  for (int i = 0; i < 50; ++i) put("/workspace/" + std::to_string(i) + "/x", "");
  const auto usage = tree_usage(workspace().get(), 20);
  EXPECT_EQ(usage.files, 20);
  EXPECT_TRUE(usage.truncated);
}

TEST_F(FilesTree, UsageFollowsNoLink) {
  link(top_, "/workspace/link");
  EXPECT_EQ(tree_usage(workspace().get(), 1000).files, 1);
}

TEST_F(FilesTree, UsageOfADeepTree) {
  make_deep("/workspace/deep", 5000);
  const auto usage = tree_usage(workspace().get(), 100'000);
  EXPECT_EQ(usage.files, 5002);
  EXPECT_FALSE(usage.truncated);
}

TEST_F(FilesTree, UsageLooksIntoWhatIsClosed) {
  for (const mode_t mode : {0000, 0100, 0300, 0400, 0600}) {
    const std::string top = "/workspace/closed" + std::to_string(mode);
    put(top + "/a/b/c", std::string(100'000, 'x'));
    put(top + "/d", std::string(100'000, 'x'));
    for (const char* directory : {"/a/b", "/a", ""}) {
      ASSERT_EQ(::chmod(host(top + directory).c_str(), mode), 0);
    }
    const auto usage = tree_usage(workspace().get(), 1000);
    EXPECT_EQ(usage.files, 5) << std::oct << mode;
    EXPECT_GE(usage.bytes, 200'000) << std::oct << mode;
    EXPECT_EQ(usage.unreadable, 0) << std::oct << mode;
    EXPECT_TRUE(remove_tree(workspace().get(), top.substr(top.rfind('/') + 1)).ok());
  }
  put("/workspace/x", "");
  const auto held = workspace();
  ASSERT_EQ(::chmod(host("/workspace").c_str(), 0300), 0);
  EXPECT_EQ(tree_usage(held.get(), 1000).files, 1);
}

// Whoever closes a directory all the time is counted or told of, never missed.
TEST_F(FilesTree, UsageTellsOfWhatIsClosedAgainAndAgain) {
  if (is_root()) GTEST_SKIP() << "root reads everything";
  put("/workspace/closed/a/x", std::string(100'000, 'x'));
  put("/workspace/closed/b/x", std::string(100'000, 'x'));
  std::atomic<bool> stop = false;
  std::thread closer([&] {
    while (!stop) {
      for (const char* name : {"/workspace/closed", "/workspace/closed/a"}) {
        (void)::chmod(host(name).c_str(), 0300);
      }
    }
  });
  for (int i = 0; i < 2000; ++i) {
    const auto usage = tree_usage(workspace().get(), 1000);
    EXPECT_TRUE(usage.unreadable > 0 || usage.truncated || usage.bytes >= 200'000);
  }
  stop = true;
  closer.join();
}

TEST_F(FilesTree, RemovesFilesLinksPipesAndDirectories) {
  put("/workspace/t/a/b/c", "x");
  put("/workspace/t/d", "x");
  link("/workspace/t", "/workspace/t/loop");
  link("../../..", "/workspace/t/a/up");
  ASSERT_EQ(::mkfifo(host("/workspace/t/pipe").c_str(), 0644), 0);
  const auto removed = remove_tree(workspace().get(), "t");
  EXPECT_TRUE(removed.ok()) << removed.error().message;
  EXPECT_TRUE(names("/workspace").empty());
}

TEST_F(FilesTree, RemovesAFileOrALinkItself) {
  put("/workspace/f", "x");
  link(top_ + "/outside", "/workspace/l");
  EXPECT_TRUE(remove_tree(workspace().get(), "f").ok());
  EXPECT_TRUE(remove_tree(workspace().get(), "l").ok());
  EXPECT_TRUE(names("/workspace").empty());
  EXPECT_TRUE(fs::exists(outside("canary")));
}

TEST_F(FilesTree, NotThereIsSuccess) { EXPECT_TRUE(remove_tree(workspace().get(), "none").ok()); }

TEST_F(FilesTree, OnlyNamesOfEntries) {
  for (const char* name : {"", ".", "..", "a/b", "/etc"}) {
    const auto removed = remove_tree(workspace().get(), name);
    ASSERT_FALSE(removed.ok()) << name;
    EXPECT_EQ(removed.error().kind, Error::Kind::kInvalid);
  }
}

TEST_F(FilesTree, LinksOutAreNotFollowed) {
  fs::create_directory(host("/workspace/t"));
  link(top_ + "/outside", "/workspace/t/absolute");
  link("../../../outside", "/workspace/t/relative");
  EXPECT_TRUE(remove_tree(workspace().get(), "t").ok());
  EXPECT_TRUE(fs::exists(outside("canary")));
}

TEST_F(FilesTree, RemovesFiveThousandLevels) {
  make_deep("/workspace/deep", 5000);
  const auto removed = remove_tree(workspace().get(), "deep");
  EXPECT_TRUE(removed.ok()) << removed.error().message;
  EXPECT_TRUE(names("/workspace").empty());
}

TEST_F(FilesTree, RemovesWhatItsModeForbids) {
  put("/workspace/t/a/b/c", "x");
  for (const char* path : {"/workspace/t/a/b", "/workspace/t/a", "/workspace/t"}) {
    ASSERT_EQ(::chmod(host(path).c_str(), path == std::string("/workspace/t/a") ? 0500 : 0), 0);
  }
  const auto removed = remove_tree(workspace().get(), "t");
  EXPECT_TRUE(removed.ok()) << removed.error().message;
}

TEST_F(FilesTree, RemovesWhatAnotherOwnsWhenRoot) {
  if (!is_root()) GTEST_SKIP() << "chown needs root";
  put("/workspace/t/a/b", "x");
  for (const char* path : {"/workspace/t/a/b", "/workspace/t/a", "/workspace/t"}) {
    ASSERT_EQ(::chown(host(path).c_str(), 1'900'000'001, 1'900'000'001), 0);
    ASSERT_EQ(::chmod(host(path).c_str(), 0), 0);
  }
  EXPECT_TRUE(remove_tree(workspace().get(), "t").ok());
}

TEST_F(FilesTree, RemovesMoreDirectoriesThanOneBatch) {
  for (int i = 0; i < 2500; ++i) {
    fs::create_directories(host("/workspace/t/" + std::to_string(i) + "/in"));
  }
  EXPECT_TRUE(remove_tree(workspace().get(), "t").ok());
  EXPECT_TRUE(names("/workspace").empty());
}

TEST_F(FilesTree, MountsAreLeftAndTheRestGoes) {
  if (!is_root()) GTEST_SKIP() << "mounts need root";
  put("/workspace/t/z/file", "x");
  put("/workspace/t/a/file", "x");
  fs::create_directories(host("/workspace/t/m/bind"));
  std::thread([&] {
    ASSERT_EQ(::unshare(CLONE_FS | CLONE_NEWNS), 0);
    ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    // A bind of the same file system: only the mount tells it apart, not st_dev.
    const std::string target = host("/workspace/t/m/bind");
    ASSERT_EQ(::mount((top_ + "/outside").c_str(), target.c_str(), nullptr, MS_BIND, nullptr), 0);
    const auto removed = remove_tree(workspace().get(), "t");
    ASSERT_FALSE(removed.ok());
    EXPECT_NE(removed.error().message.find("bind"), std::string::npos) << removed.error().message;
    EXPECT_EQ(tree_usage(workspace().get(), 1000).files, 3);
  }).join();
  EXPECT_EQ(names("/workspace/t"), std::vector<std::string>{"m"});
  EXPECT_TRUE(fs::exists(outside("canary")));
  EXPECT_TRUE(remove_tree(workspace().get(), "t").ok());
}

TEST_F(FilesTree, DescriptorsAreGivenBack) {
  const auto open_now = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator{});
  };
  make_deep("/workspace/t", 50);
  const auto before = open_now();
  (void)tree_usage(workspace().get(), 1000);
  (void)files().list(".", {.recursive = true, .changed_since_ms = {}});
  (void)files().write("w", "x", WriteMode::kOverwrite);
  (void)files().read("none", 0, 10);
  (void)remove_tree(workspace().get(), "t");
  EXPECT_EQ(open_now(), before);
}

}  // namespace
