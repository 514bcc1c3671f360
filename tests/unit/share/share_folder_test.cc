// The folder where people find what is shared: whose names it takes, and what it never touches.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "share/file_share.h"
#include "share/share_folder.h"
#include "tests/support/restricted_thread.h"

namespace {

using namespace share;
namespace fs = std::filesystem;

class ShareFolderTest : public testing::Test {
 protected:
  ShareFolderTest() : directory_(::testing::TempDir() + "hutch_folder_XXXXXX") {
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
  }
  ~ShareFolderTest() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string place(const std::string& name = "") const {
    return directory_ + "/hutch" + (name.empty() ? "" : "/" + name);
  }
  [[nodiscard]] base::Result<std::string> try_put(const std::string& content,
                                                  const std::string& name,
                                                  mode_t umask = 022) const {
    const base::UniqueFd stored = base::make_memory_file("stored", content).value();
    return ShareFolder(place(), umask).put(stored.get(), name);
  }
  // The name it got, or the error.
  [[nodiscard]] std::string put(const std::string& content, const std::string& name) const {
    const auto path = try_put(content, name);
    if (!path.ok()) return "error: " + path.error().message;
    EXPECT_EQ(path.value().substr(0, place().size() + 1), place() + "/");
    EXPECT_EQ(get(path.value()), content);
    return path.value().substr(place().size() + 1);
  }
  static std::string get(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& name, const std::string& content) const {
    fs::create_directories(place());
    std::ofstream(place(name)) << content;
  }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(place())) {
      found.insert(entry.path().filename());
    }
    return found;
  }
  static unsigned mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
  }

  std::string directory_;
};

TEST_F(ShareFolderTest, NothingIsMadeBeforeTheFirstCopy) {
  const ShareFolder folder(place(), 022);
  EXPECT_TRUE(folder.wants_copies());
  EXPECT_FALSE(fs::exists(place()));
  EXPECT_FALSE(ShareFolder("", 022).wants_copies());
}

TEST_F(ShareFolderTest, AFolderForItsOwnerAndFilesLikeTheirOthers) {
  EXPECT_EQ(put("a", "chart.png"), "chart.png");
  EXPECT_EQ(mode_of(place()), 0700U);
  EXPECT_EQ(mode_of(place("chart.png")), 0644U);
  EXPECT_TRUE(try_put("b", "private", 0077).ok());
  EXPECT_EQ(mode_of(place("private")), 0600U);
  EXPECT_TRUE(try_put("c", "common", 0002).ok());
  EXPECT_EQ(mode_of(place("common")), 0664U);
  EXPECT_EQ(names(), (std::set<std::string>{"chart.png", "private", "common"}));
}

TEST_F(ShareFolderTest, WhatIsThereWithThisContentIsTheCopy) {
  EXPECT_EQ(put("same", "chart.png"), "chart.png");
  EXPECT_EQ(put("same", "chart.png"), "chart.png");
  EXPECT_EQ(put("other", "chart.png"), "chart (2).png");
  EXPECT_EQ(put("other", "chart.png"), "chart (2).png");
  EXPECT_EQ(put("same", "chart.png"), "chart.png");
  EXPECT_EQ(put("", "chart.png"), "chart (3).png");
  EXPECT_EQ(put("", "chart.png"), "chart (3).png");
}

TEST_F(ShareFolderTest, WhatSomebodyPutThereIsNeverTouched) {
  write("chart.png", "mine");
  write("chart (2).png", "also mine");
  EXPECT_EQ(put("late", "chart.png"), "chart (3).png");
  EXPECT_EQ(get(place("chart.png")), "mine");
  EXPECT_EQ(get(place("chart (2).png")), "also mine");
  // Edited in place, it is another file.
  write("chart (3).png", "edited");
  EXPECT_EQ(put("late", "chart.png"), "chart (4).png");
  EXPECT_EQ(get(place("chart (3).png")), "edited");
}

TEST_F(ShareFolderTest, OfTheSameSizeIsNotTheSame) {
  const std::string one(700'000, 'x');
  std::string other = one;
  other.back() = 'y';
  EXPECT_EQ(put(one, "big"), "big");
  EXPECT_EQ(put(other, "big"), "big (2)");
}

TEST_F(ShareFolderTest, OtherThingsOfThatNameAreLeftAlone) {
  write("elsewhere", "x");
  fs::create_symlink("elsewhere", place("link"));
  fs::create_symlink("nowhere", place("dangling"));
  fs::create_directory(place("directory"));
  ASSERT_EQ(::mkfifo(place("fifo").c_str(), 0600), 0);
  for (const char* name : {"link", "dangling", "directory", "fifo"}) {
    EXPECT_EQ(put("x", name), std::string(name) + " (2)");
  }
  EXPECT_TRUE(fs::is_symlink(place("link")) && fs::is_fifo(place("fifo")));
  EXPECT_FALSE(fs::exists(place("nowhere"))) << "no link is followed";
}

TEST_F(ShareFolderTest, TheCopyIsNoLinkToTheStore) {
  const std::string stored = directory_ + "/stored";
  std::ofstream(stored) << "kept";
  const base::UniqueFd file = base::open_file(AT_FDCWD, stored, O_RDONLY).value();
  const auto path = ShareFolder(place(), 022).put(file.get(), "f");
  ASSERT_TRUE(path.ok());
  std::ofstream(path.value(), std::ios::in) << "EDIT";
  EXPECT_EQ(get(path.value()), "EDIT");
  EXPECT_EQ(get(stored), "kept");
}

TEST_F(ShareFolderTest, ManyAtOnceEachGetOne) {
  constexpr int kThreads = 8;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    // Two of each content.
    threads.emplace_back([&, t] { EXPECT_TRUE(try_put(std::to_string(t / 2), "f.txt").ok()); });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<std::string, int> contents;
  for (const std::string& name : names()) ++contents[get(place(name))];
  EXPECT_EQ(contents, (std::map<std::string, int>{{"0", 1}, {"1", 1}, {"2", 1}, {"3", 1}}));
}

TEST_F(ShareFolderTest, FilesOfOneNameHaveAnEnd) {
  for (int i = 1; i <= kSameNameMax; ++i) write(numbered_filename("f", i), "mine");
  EXPECT_EQ(put("x", "f"), "error: it has 1000 files of that name: move some elsewhere");
  EXPECT_EQ(names().size(), static_cast<std::size_t>(kSameNameMax));
}

TEST_F(ShareFolderTest, WithoutUnnamedFilesAllIsTheSame) {
  for (const auto& forbid_more : {+[] {}, +[] { forbid_renaming_without_replacing(); }}) {
    fs::remove_all(place());
    std::thread([&] {
      forbid_unnamed_files();
      forbid_more();
      EXPECT_EQ(put("one", "f"), "f");
      EXPECT_EQ(put("two", "f"), "f (2)");
      EXPECT_EQ(put("one", "f"), "f");
    }).join();
    EXPECT_EQ(names(), (std::set<std::string>{"f", "f (2)"}));
    EXPECT_EQ(mode_of(place("f")), 0644U);
  }
}

TEST_F(ShareFolderTest, ALinkOfTheUserLeadsWhereTheyWant) {
  fs::create_directory(directory_ + "/elsewhere");
  fs::create_symlink("elsewhere", place());
  EXPECT_EQ(put("x", "f"), "f");
  EXPECT_EQ(get(directory_ + "/elsewhere/f"), "x");
}

TEST_F(ShareFolderTest, ALinkOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make one";
  fs::create_directory(directory_ + "/elsewhere");
  fs::create_symlink("elsewhere", place());
  ASSERT_EQ(::lchown(place().c_str(), 12345, 12345), 0);
  EXPECT_EQ(put("x", "f"), "error: it belongs to another user");
  EXPECT_TRUE(fs::is_empty(directory_ + "/elsewhere"));
}

TEST_F(ShareFolderTest, WhatIsNoDirectoryIsAnError) {
  std::ofstream(place()) << "a file";
  EXPECT_EQ(put("x", "f"), "error: open it: Not a directory");
  EXPECT_EQ(get(place()), "a file");
  const base::UniqueFd stored = base::make_memory_file("stored", "x").value();
  const auto nowhere = ShareFolder(directory_ + "/absent/hutch", 022).put(stored.get(), "f");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().message, "make it: No such file or directory");
}

TEST_F(ShareFolderTest, WhereOneMayNotWriteIsAnError) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::create_directory(place());
  ASSERT_EQ(::chmod(place().c_str(), 0500), 0);
  EXPECT_EQ(put("x", "f"), "error: copy: Permission denied");
  ASSERT_EQ(::chmod(place().c_str(), 0700), 0);
}

TEST_F(ShareFolderTest, AFullDiskIsAnErrorAndLeavesNothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounts need root";
  fs::create_directory(place());
  in_own_mounts([&] {
    ASSERT_EQ(::mount("tmpfs", place().c_str(), "tmpfs", 0, "size=64k"), 0);
    EXPECT_EQ(put(std::string(100'000, 'x'), "f"), "error: copy: No space left on device");
    EXPECT_TRUE(names().empty());
    EXPECT_EQ(put("small", "f"), "f") << "there is room again";
    forbid_unnamed_files();
    EXPECT_EQ(put(std::string(100'000, 'x'), "g"), "error: copy: No space left on device");
    EXPECT_EQ(names(), std::set<std::string>{"f"});
  });
}

TEST_F(ShareFolderTest, TheLongestNamesFit) {
  const std::string name = safe_filename(std::string(300, 'n') + ".csv");
  EXPECT_EQ(put("1", name), name);
  EXPECT_EQ(put("2", name), numbered_filename(name, 2));
}

TEST(NumberedFilename, BeforeTheExtension) {
  const std::vector<std::pair<const char*, const char*>> cases{
      {"chart.png", "chart (2).png"},     {"chart", "chart (2)"},
      {"data.tar.gz", "data (2).tar.gz"}, {"a.b.csv", "a.b (2).csv"},
      {"tar.gz", "tar (2).gz"},           {"ends.", "ends (2)."},
      {"sp ace.txt", "sp ace (2).txt"},   {"_hidden", "_hidden (2)"}};
  for (const auto& [name, numbered] : cases) {
    EXPECT_EQ(numbered_filename(name, 2), numbered);
    EXPECT_EQ(numbered_filename(name, 1), name);
  }
}

}  // namespace
