// list_files from the host's side.
#include <fcntl.h>
#include <sys/mount.h>

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "tests/unit/sandbox/files_fixture.h"

namespace {

using namespace files_test;

class FilesList : public FilesTest {
 protected:
  // "type path" of each entry, and "..." when truncated.
  [[nodiscard]] std::vector<std::string> list(const std::string& path,
                                              const ListOptions& options = {}) const {
    const auto result = files().list(path, options);
    if (!result.ok()) return {text_of(result.error())};
    std::vector<std::string> lines;
    for (const auto& entry : result.value().entries) lines.push_back(entry.type + " " + entry.path);
    if (result.value().truncated) lines.emplace_back("...");
    return lines;
  }
  using Lines = std::vector<std::string>;
};

TEST_F(FilesList, OneDirectory) {
  put("/workspace/b.txt", "four");
  put("/workspace/a/inner", "");
  link("/nowhere", "/workspace/link");
  ASSERT_EQ(::mkfifo(host("/workspace/pipe").c_str(), 0644), 0);
  EXPECT_EQ(list("/workspace"), (Lines{"directory /workspace/a", "file /workspace/b.txt",
                                       "symlink /workspace/link", "other /workspace/pipe"}));
  const auto result = files().list("/workspace", {}).value();
  EXPECT_EQ(result.path, "/workspace");
  EXPECT_EQ(result.entries[1].bytes, 4);
  EXPECT_LE(std::abs(result.entries[1].modified_at_ms - base::now_ms()), 60'000);
}

TEST_F(FilesList, TheRootItself) {
  EXPECT_EQ(list("/"), (Lines{"directory /home", "directory /tmp", "directory /workspace"}));
}

TEST_F(FilesList, RecursiveIsInTheOrderOfBytes) {
  put("/workspace/a/z", "");
  put("/workspace/a-b", "");
  put("/workspace/a.txt", "");
  EXPECT_EQ(list(".", {.recursive = true, .changed_since_ms = {}}),
            (Lines{"directory /workspace/a", "file /workspace/a-b", "file /workspace/a.txt",
                   "file /workspace/a/z"}));
}

TEST_F(FilesList, LinksAreNotFollowedBelowButAreOnTheWay) {
  put("/home/user/data/x", "");
  link("/home/user/data", "/workspace/link");
  link("..", "/workspace/up");
  EXPECT_EQ(list("/workspace", {.recursive = true, .changed_since_ms = {}}),
            (Lines{"symlink /workspace/link", "symlink /workspace/up"}));
  EXPECT_EQ(list("/workspace/link"), Lines{"file /workspace/link/x"});
}

TEST_F(FilesList, LinksOutLeadNowhere) {
  link(top_ + "/outside", "/workspace/absolute");
  link("../../outside", "/workspace/relative");
  EXPECT_TRUE(list("/workspace/absolute")[0].starts_with("not_found"));
  EXPECT_TRUE(list("/workspace/relative")[0].starts_with("not_found"));
}

TEST_F(FilesList, AFileIsNoDirectory) {
  put("/workspace/f", "");
  EXPECT_EQ(list("f"), Lines{"invalid: /workspace/f: is not a directory; use read_file, or list "
                             "its directory"});
  EXPECT_TRUE(list("none")[0].starts_with("not_found"));
}

TEST_F(FilesList, RangesAreNamed) {
  ListOptions options;
  options.max_entries = 0;
  EXPECT_EQ(list(".", options), Lines{"invalid: max_entries must be from 1 to 10000"});
  options.max_entries = 1;
  options.max_depth = 5000;
  EXPECT_EQ(list(".", options), Lines{"invalid: max_depth must be from 1 to 4096"});
}

TEST_F(FilesList, OfTooManyTheFirstOnes) {
  for (int i = 0; i < 3000; ++i) put_at(host("/workspace/" + std::to_string(10000 + i)), "");
  ListOptions options;
  options.max_entries = 3;
  EXPECT_EQ(list(".", options), (Lines{"file /workspace/10000", "file /workspace/10001",
                                       "file /workspace/10002", "..."}));
  EXPECT_EQ(list(".").size(), sandbox::files::kListEntriesDefault + 1);
  options.max_entries = 3000;
  EXPECT_EQ(list(".", options).size(), 3000U);
}

TEST_F(FilesList, OfTooManyInATreeTheFirstOnes) {
  for (const char* directory : {"a", "b", "c"}) {
    for (int i = 0; i < 10; ++i) {
      put(std::string("/workspace/") + directory + "/" + std::to_string(i), "");
    }
  }
  ListOptions options;
  options.recursive = true;
  options.max_entries = 4;
  EXPECT_EQ(list(".", options), (Lines{"directory /workspace/a", "file /workspace/a/0",
                                       "file /workspace/a/1", "file /workspace/a/2", "..."}));
}

TEST_F(FilesList, PagesJoin) {
  for (const char* path : {"a/1", "a/2", "a.b", "a b/c/d", "z"}) {
    put(std::string("/workspace/") + path, "");
  }
  put("/workspace/bad\xff", "");
  ListOptions options;
  options.recursive = true;
  const auto all = files().list(".", options).value();
  ASSERT_EQ(all.entries.size(), 9U);
  options.max_entries = 2;
  std::vector<std::string> paths;
  for (bool is_cut = true; is_cut && paths.size() < all.entries.size();) {
    const auto page = files().list(".", options).value();
    for (const auto& entry : page.entries) paths.push_back(entry.path);
    is_cut = page.truncated;
    EXPECT_EQ(page.goes_on, is_cut);
    options.after = paths.back();
  }
  std::vector<std::string> wanted;
  for (const auto& entry : all.entries) wanted.push_back(entry.path);
  EXPECT_EQ(paths, wanted);
  options.after = "z";
  EXPECT_EQ(list(".", options), Lines{}) << "as the session names it";
  options.after = "/workspace/a/none";
  EXPECT_EQ(list(".", options), (Lines{"file /workspace/bad\\xFF", "file /workspace/z"}));
}

TEST_F(FilesList, DepthIsCut) {
  put("/workspace/1/2/3/4", "");
  ListOptions options;
  options.recursive = true;
  options.max_depth = 2;
  EXPECT_EQ(list(".", options),
            (Lines{"directory /workspace/1", "directory /workspace/1/2", "..."}));
}

TEST_F(FilesList, GoesOnOnlyWhereAllThatIsMissingComesBehind) {
  for (const char* path : {"/workspace/a/b/c", "/workspace/x", "/workspace/y"}) put(path, "");
  ListOptions options;
  options.recursive = true;
  EXPECT_FALSE(files().list(".", options).value().goes_on) << "it is whole";
  options.max_entries = 3;
  EXPECT_TRUE(files().list(".", options).value().goes_on);
  options.max_depth = 2;
  const auto result = files().list(".", options).value();
  EXPECT_TRUE(result.truncated);
  EXPECT_FALSE(result.goes_on) << "/workspace/a/b/c comes before the last entry";
}

TEST_F(FilesList, WhatAListGoesOnBehindNeedNotBeThereNorCouldBeOpened) {
  for (const char* path : {"/workspace/a\xff", "/workspace/a\xff\xff", "/workspace/b"}) {
    put(path, "");
  }
  ListOptions options;
  options.after = "/workspace/a\\xFF";
  const Lines behind{"file /workspace/a\\xFF\\xFF", "file /workspace/b"};
  EXPECT_EQ(list(".", options), behind);
  options.after = "./a\\xFF";
  EXPECT_EQ(list(".", options), behind);
  ASSERT_EQ(::unlink(host("/workspace/a\xff").c_str()), 0);
  EXPECT_EQ(list(".", options), behind);
  options.after = "a" + std::string(5000, 'a');
  EXPECT_EQ(list(".", options), behind) << "0xFF comes behind all letters";
  put("/mnt/data/1", "");
  put("/mnt/data/2", "");
  options.recursive = true;
  options.after = "/mnt/data/1";
  EXPECT_EQ(list("/mnt", options), Lines{"file /mnt/data/2"});
}

TEST_F(FilesList, ThousandLevelsWithFewDescriptors) {
  base::UniqueFd here(::open(host("/workspace").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(::mkdirat(here.get(), "d", 0755), 0);
    here = base::UniqueFd(::openat(here.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ListOptions options;
  options.recursive = true;
  options.max_entries = 2000;
  const auto result = files().list(".", options).value();
  EXPECT_FALSE(result.truncated);
  ASSERT_EQ(result.entries.size(), 1000U);
  EXPECT_EQ(result.entries.back().path.size(), std::string("/workspace").size() + 2000);
}

TEST_F(FilesList, LongPathsDoNotEatMemory) {
  base::UniqueFd here(::open(host("/workspace").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string name(255, 'd');
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(::mkdirat(here.get(), name.c_str(), 0755), 0);
    here = base::UniqueFd(::openat(here.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  const auto result = files().list(".", {.recursive = true, .changed_since_ms = {}}).value();
  std::size_t bytes = 0;
  for (const auto& entry : result.entries) bytes += entry.path.size();
  EXPECT_TRUE(result.truncated);
  EXPECT_LE(bytes, std::size_t{8} << 20);
  EXPECT_GT(result.entries.size(), 100U);
}

TEST_F(FilesList, ChangedSinceGoesByTheTimeCodeCannotSet) {
  put("/workspace/old", "");
  const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
  struct stat status {};
  ASSERT_EQ(::stat(host("/workspace/old").c_str(), &status), 0);
  const std::int64_t made_ms =
      static_cast<std::int64_t>(status.st_ctim.tv_sec) * 1000 + status.st_ctim.tv_nsec / 1'000'000;
  // Until the file system's clock has gone on, so that the next change is a later one.
  do {
    put("/workspace/d/new", "");
    ASSERT_EQ(::utimensat(AT_FDCWD, host("/workspace/d/new").c_str(), long_ago, 0), 0);
    ASSERT_EQ(::stat(host("/workspace/d/new").c_str(), &status), 0);
  } while (static_cast<std::int64_t>(status.st_ctim.tv_sec) * 1000 +
               status.st_ctim.tv_nsec / 1'000'000 <=
           made_ms);
  ListOptions options;
  options.recursive = true;
  options.changed_since_ms = made_ms + 1;
  const Lines lines = list(".", options);
  EXPECT_NE(std::find(lines.begin(), lines.end(), "file /workspace/d/new"), lines.end());
  EXPECT_EQ(std::find(lines.begin(), lines.end(), "file /workspace/old"), lines.end());
  options.changed_since_ms = base::now_ms() + 3'600'000;
  EXPECT_EQ(list(".", options), Lines{});
}

TEST_F(FilesList, NamesThatAreNoUtf8AreEscapedAndSaySo) {
  put("/workspace/bad\xff\\name", "");
  put("/workspace/good\\name", "");
  put("/workspace/new\nline", "");
  const auto result = files().list(".", {}).value();
  ASSERT_EQ(result.entries.size(), 3U);
  EXPECT_EQ(result.entries[0].path, "/workspace/bad\\xFF\\\\name");
  EXPECT_TRUE(result.entries[0].escaped);
  EXPECT_EQ(result.entries[1].path, "/workspace/good\\name");
  EXPECT_FALSE(result.entries[1].escaped);
  EXPECT_EQ(result.entries[2].path, "/workspace/new\nline");
}

TEST_F(FilesList, UnreadableDirectoriesAreListedNotEntered) {
  if (is_root()) GTEST_SKIP() << "root reads everything";
  put("/workspace/closed/x", "");
  put("/workspace/no_search/x", "");
  ASSERT_EQ(::chmod(host("/workspace/closed").c_str(), 0), 0);
  ASSERT_EQ(::chmod(host("/workspace/no_search").c_str(), 0644), 0);
  EXPECT_EQ(list(".", {.recursive = true, .changed_since_ms = {}}),
            (Lines{"directory /workspace/closed", "directory /workspace/no_search"}));
  EXPECT_NE(list("closed")[0].find("permission denied"), std::string::npos);
}

TEST_F(FilesList, ProcIsRefusedAndNotEntered) {
  const BoxFiles host_root(base::UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)),
                           Identity{});
  const auto result = host_root.list("/proc", {});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("belongs to the kernel"), std::string::npos);
}

TEST_F(FilesList, OtherMountsAreEnteredProcIsNot) {
  if (!is_root()) GTEST_SKIP() << "mounts need root";
  fs::create_directory(host("/workspace/proc"));
  fs::create_directory(host("/workspace/disk"));
  std::thread([&] {
    ASSERT_EQ(::unshare(CLONE_FS | CLONE_NEWNS), 0);
    ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(::mount("proc", host("/workspace/proc").c_str(), "proc", 0, nullptr), 0);
    ASSERT_EQ(::mount("tmpfs", host("/workspace/disk").c_str(), "tmpfs", 0, nullptr), 0);
    put("/workspace/disk/x", "");
    const BoxFiles mounted(
        base::UniqueFd(::open(host("").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), Identity{});
    const auto result = mounted.list(".", {.recursive = true, .changed_since_ms = {}}).value();
    ASSERT_EQ(result.entries.size(), 3U);
    EXPECT_EQ(result.entries[1].path, "/workspace/disk/x");
    EXPECT_EQ(result.entries[2].path, "/workspace/proc");
  }).join();
}

}  // namespace
