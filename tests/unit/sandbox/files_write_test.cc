// write_file from the host's side.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <thread>

#include "base/draft.h"
#include "tests/support/restricted_thread.h"
#include "tests/unit/sandbox/files_fixture.h"

namespace {

using namespace files_test;

class FilesWrite : public FilesTest {
 protected:
  using FilesTest::FilesTest;

  // "created 3" or "modified 3 was 5", or the error.
  [[nodiscard]] std::string write(const std::string& path, const std::string& content,
                                  WriteMode mode = WriteMode::kOverwrite) const {
    const auto result = files().write(path, content, mode);
    if (!result.ok()) return text_of(result.error());
    const auto& value = result.value();
    std::string text = value.change + " " + std::to_string(value.bytes);
    if (value.change == "modified") text += " was " + std::to_string(value.previous_bytes);
    return text;
  }
};

// On tmpfs, where O_TMPFILE and renames work differently inside.
class FilesWriteOnTmpfs : public FilesWrite {
 protected:
  FilesWriteOnTmpfs() : FilesWrite("/dev/shm") {}
};

TEST_F(FilesWrite, CreatesThenModifies) {
  EXPECT_EQ(write("a", "one"), "created 3");
  EXPECT_EQ(write("a", "three"), "modified 5 was 3");
  EXPECT_EQ(get("/workspace/a"), "three");
  EXPECT_EQ(names("/workspace"), std::vector<std::string>{"a"});
}

TEST_F(FilesWriteOnTmpfs, CreatesThenModifies) {
  EXPECT_EQ(write("a", "one"), "created 3");
  EXPECT_EQ(write("a", "three"), "modified 5 was 3");
  EXPECT_EQ(write("a", "!", WriteMode::kAppend), "modified 6 was 5");
  EXPECT_EQ(get("/workspace/a"), "three!");
  EXPECT_EQ(names("/workspace"), std::vector<std::string>{"a"});
}

TEST_F(FilesWrite, WhatIsNotAsItWasReadIsNotReplaced) {
  put("/workspace/a", "one");
  link("a", "/workspace/link");
  const auto read = files().read("a", 0, 100);
  ASSERT_TRUE(read.ok());
  const auto replace = [&](const std::string& path) {
    const auto result = files().write(path, "mine", WriteMode::kOverwrite, read.value().state);
    return result.ok() ? result.value().change : text_of(result.error());
  };
  put("/workspace/a", "another's");
  EXPECT_EQ(replace("a"), "unavailable: /workspace/a was changed meanwhile: read it again");
  fs::remove(host("/workspace/a"));
  EXPECT_EQ(replace("a"), "unavailable: /workspace/a was changed meanwhile: read it again");
  EXPECT_EQ(names("/workspace"), std::vector<std::string>{"link"});
  put("/workspace/a", "two");
  const auto again = files().read("link", 0, 100);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(files().write("link", "mine", WriteMode::kOverwrite, again.value().state).ok());
  EXPECT_EQ(get("/workspace/a"), "mine");
}

TEST_F(FilesWrite, OnlyWhatNoLinkLeadsAwayFromIsInAHostFolder) {
  fs::create_directories(host("/mnt/project/below"));
  link("/workspace", "/mnt/data");
  link("/workspace", "/mnt/project/out");
  link("/workspace/file", "/mnt/project/file");
  for (const char* path : {"/mnt/project/new", "/mnt/project/below/new/deep", "/mnt/database/x",
                           "/workspace/../mnt/project/x"}) {
    EXPECT_TRUE(files().is_in_host_folder(path)) << path;
  }
  for (const char* path : {"x", "/mnt/../workspace/x", "/mnt/data/x", "/mnt/project/out/x",
                           "/mnt/project/file", "/mnt/project/out/../x", "/mnt", ""}) {
    EXPECT_FALSE(files().is_in_host_folder(path)) << path;
  }
}

TEST_F(FilesWrite, MakesParentsWhateverTheUmask) {
  const mode_t former = ::umask(077);
  const auto result = files().write("x/y/z/a", "1", WriteMode::kOverwrite);
  ::umask(former);
  ASSERT_TRUE(result.ok()) << text_of(result.error());
  EXPECT_EQ(result.value().path, "/workspace/x/y/z/a");
  EXPECT_EQ(mode_of("/workspace/x"), 0755U);
  EXPECT_EQ(mode_of("/workspace/x/y/z"), 0755U);
  EXPECT_EQ(mode_of("/workspace/x/y/z/a"), 0644U);
}

TEST_F(FilesWrite, OverwriteKeepsTheMode) {
  put("/workspace/run.sh", "old");
  ASSERT_EQ(::chmod(host("/workspace/run.sh").c_str(), 0750), 0);
  EXPECT_EQ(write("run.sh", "new"), "modified 3 was 3");
  EXPECT_EQ(mode_of("/workspace/run.sh"), 0750U);
}

TEST_F(FilesWrite, OverwriteDropsSetuid) {
  put("/workspace/tool", "old");
  ASSERT_EQ(::chmod(host("/workspace/tool").c_str(), 04755), 0);
  EXPECT_EQ(write("tool", "new"), "modified 3 was 3");
  EXPECT_EQ(mode_of("/workspace/tool"), 0755U);
}

TEST_F(FilesWrite, AppendAddsAtTheEnd) {
  EXPECT_EQ(write("log", "one\n", WriteMode::kAppend), "created 4");
  EXPECT_EQ(write("log", "two\n", WriteMode::kAppend), "modified 8 was 4");
  EXPECT_EQ(get("/workspace/log"), "one\ntwo\n");
}

TEST_F(FilesWrite, IsLimitedInSize) {
  const std::string large(sandbox::files::kWriteBytesMax + 1, 'x');
  EXPECT_TRUE(write("a", large, WriteMode::kAppend).starts_with("limit: content is 104857601"));
  EXPECT_TRUE(names("/workspace").empty());
}

TEST_F(FilesWrite, FailedAppendLeavesTheFileAsItWas) {
  put("/workspace/log", "whole\n");
  rlimit former{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &former), 0);
  (void)::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, former.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string result = write("log", std::string(5000, 'x'), WriteMode::kAppend);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &former), 0);
  EXPECT_TRUE(result.starts_with("limit: ")) << result;
  EXPECT_EQ(get("/workspace/log"), "whole\n");
}

TEST_F(FilesWrite, FailedOverwriteLeavesTheOldFileAndNothingElse) {
  put("/workspace/a", "old");
  rlimit former{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &former), 0);
  (void)::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, former.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string result = write("a", std::string(5000, 'x'));
  const std::string fresh = write("b", std::string(5000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &former), 0);
  EXPECT_TRUE(result.starts_with("limit: ")) << result;
  EXPECT_TRUE(fresh.starts_with("limit: ")) << fresh;
  EXPECT_EQ(get("/workspace/a"), "old");
  EXPECT_EQ(names("/workspace"), std::vector<std::string>{"a"});
}

TEST_F(FilesWrite, CreateRefusesWhatExists) {
  EXPECT_EQ(write("a", "one", WriteMode::kCreate), "created 3");
  EXPECT_TRUE(write("a", "two", WriteMode::kCreate).starts_with("conflict: /workspace/a: exists"));
  link("nowhere", "/workspace/dangling");
  EXPECT_TRUE(write("dangling", "x", WriteMode::kCreate).starts_with("conflict"));
  EXPECT_EQ(get("/workspace/a"), "one");
  EXPECT_FALSE(fs::exists(host("/workspace/nowhere")));
}

TEST_F(FilesWrite, WritesToWhatALinkPointsAt) {
  put("/home/user/real", "old");
  link("/home/user/real", "/workspace/link");
  link("link", "/workspace/link_to_link");
  EXPECT_EQ(write("link_to_link", "new"), "modified 3 was 3");
  EXPECT_EQ(get("/home/user/real"), "new");
  EXPECT_TRUE(fs::is_symlink(host("/workspace/link")));
  link("../home/user/fresh", "/workspace/dangling");
  EXPECT_EQ(write("dangling", "made"), "created 4");
  EXPECT_EQ(get("/home/user/fresh"), "made");
  EXPECT_EQ(write("dangling", "+", WriteMode::kAppend), "modified 5 was 4");
}

TEST_F(FilesWrite, NothingOutsideIsWritten) {
  link(outside("canary"), "/workspace/absolute");
  link("../../outside/canary", "/workspace/relative");
  link("../../outside", "/workspace/directory");
  link(top_ + "/outside", "/workspace/absolute_directory");
  for (const char* path : {"absolute", "relative", "directory/canary", "absolute_directory/canary",
                           "../../outside/canary", "directory/new", "absolute_directory/new"}) {
    (void)write(path, "overwritten");
    (void)write(path, "appended", WriteMode::kAppend);
    (void)write(path, "created", WriteMode::kCreate);
  }
  std::ifstream stream(outside("canary"));
  std::ostringstream content;
  content << stream.rdbuf();
  EXPECT_EQ(content.str(), kCanary);
  EXPECT_FALSE(fs::exists(outside("new")));
}

TEST_F(FilesWrite, LinkLoopEnds) {
  link("b", "/workspace/a");
  link("a", "/workspace/b");
  EXPECT_NE(write("a", "x").find("link that cannot be followed"), std::string::npos);
}

TEST_F(FilesWrite, OnlyRegularFilesAreTargets) {
  ASSERT_EQ(::mkfifo(host("/workspace/pipe").c_str(), 0644), 0);
  EXPECT_TRUE(write("pipe", "x").starts_with("invalid: /workspace/pipe: is a named pipe"));
  EXPECT_TRUE(write("pipe", "x", WriteMode::kAppend).starts_with("invalid"));
  fs::create_directory(host("/workspace/dir"));
  EXPECT_EQ(write("dir", "x"), "invalid: /workspace/dir: is a directory; name a file in it");
  EXPECT_NE(write("new/", "x").find("is a directory"), std::string::npos);
  EXPECT_NE(write("/", "x").find("is a directory"), std::string::npos);
  EXPECT_NE(write("..", "x").find("is a directory"), std::string::npos);
  link("dir", "/workspace/to_dir");
  EXPECT_NE(write("to_dir", "x").find("is a directory"), std::string::npos);
}

TEST_F(FilesWrite, KernelFilesAreRefused) {
  const BoxFiles host_root(base::UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)),
                           Identity{});
  const auto result = host_root.write("/proc/sys/kernel/hostname", "x", WriteMode::kOverwrite);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("belongs to the kernel"), std::string::npos);
}

TEST_F(FilesWrite, AFileInTheWayOfADirectory) {
  put("/workspace/file", "x");
  EXPECT_NE(write("file/below", "x").find("a part of this path is a file"), std::string::npos);
}

TEST_F(FilesWrite, DeniedSaysWhereWritingIsPossible) {
  if (is_root()) GTEST_SKIP() << "root writes everywhere";
  fs::create_directory(host("/usr"));
  ASSERT_EQ(::chmod(host("/usr").c_str(), 0555), 0);
  EXPECT_EQ(write("/usr/a", "x"),
            "invalid: /usr/a: permission denied; writing is possible in /workspace, /home/user and "
            "/tmp");
  put("/workspace/fixed", "x");
  ASSERT_EQ(::chmod(host("/workspace/fixed").c_str(), 0444), 0);
  EXPECT_NE(write("fixed", "y").find("permission denied by the mode"), std::string::npos);
  EXPECT_EQ(get("/workspace/fixed"), "x");
}

TEST_F(FilesWrite, OddNamesAndDeepDirectories) {
  EXPECT_EQ(write("new\nline", "x"), "created 1");
  EXPECT_EQ(write(std::string(255, 'n'), "x"), "created 1");
  EXPECT_NE(write(std::string(256, 'n'), "x").find("longer than 255"), std::string::npos);
  EXPECT_TRUE(write("a\xff", "x").starts_with("invalid: path must be UTF-8"));
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "d/";
  EXPECT_EQ(write(deep + "f", "deep"), "created 4");
  EXPECT_EQ(read(deep + "f"), "deep");
}

TEST_F(FilesWrite, HardLinkOfAnotherNameKeepsItsContent) {
  put("/workspace/a", "old");
  fs::create_hard_link(host("/workspace/a"), host("/workspace/b"));
  EXPECT_EQ(write("a", "new"), "modified 3 was 3");
  EXPECT_EQ(get("/workspace/b"), "old");
}

TEST_F(FilesWrite, ReadersNeverSeeHalfAFile) {
  const std::string a(300'000, 'a');
  const std::string b(400'000, 'b');
  put("/workspace/f", a);
  std::atomic<bool> stop{false};
  int seen = 0;
  std::thread reader([&] {
    while (!stop) {
      const std::string content = get("/workspace/f");
      if (content != a && content != b) ADD_FAILURE() << content.size() << " bytes";
      ++seen;
    }
  });
  for (int i = 0; i < 300; ++i) EXPECT_EQ(write("f", i % 2 == 0 ? b : a).substr(0, 8), "modified");
  stop = true;
  reader.join();
  EXPECT_GT(seen, 0);
  EXPECT_EQ(names("/workspace"), std::vector<std::string>{"f"});
}

TEST_F(FilesWrite, ManyWritersOfOneNameAllSucceedAndOneCreates) {
  std::atomic<int> created{0};
  std::atomic<int> conflicts{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      EXPECT_TRUE(files().write("d/e/shared", std::to_string(t), WriteMode::kOverwrite).ok());
      EXPECT_TRUE(files().write("d/e/log", "line\n", WriteMode::kAppend).ok());
      const auto result = files().write("d/e/once", "x", WriteMode::kCreate);
      ++(result.ok() ? created : conflicts);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(created, 1);
  EXPECT_EQ(conflicts, 7);
  EXPECT_EQ(get("/workspace/d/e/log").size(), 40U);
  EXPECT_EQ(names("/workspace/d/e").size(), 3U);
}

TEST_F(FilesWrite, WithoutUnnamedFilesAllIsTheSame) {
  std::thread([&] {
    forbid_unnamed_files();
    ASSERT_EQ(::openat(AT_FDCWD, "/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), -1);
    EXPECT_EQ(write("a", "one"), "created 3");
    EXPECT_EQ(write("a", "three"), "modified 5 was 3");
    EXPECT_EQ(write("b", "new", WriteMode::kCreate), "created 3");
    EXPECT_TRUE(write("b", "x", WriteMode::kCreate).starts_with("conflict"));
    EXPECT_EQ(write("a", "!", WriteMode::kAppend), "modified 6 was 5");
    base::Draft draft(root_fd());
    EXPECT_EQ(draft.fill("late", 0644), 0);
    EXPECT_EQ(draft.publish_new("workspace"), EEXIST);
  }).join();
  EXPECT_EQ(get("/workspace/a"), "three!");
  EXPECT_EQ(mode_of("/workspace/b"), 0644U);
  EXPECT_EQ(names("/workspace"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(names("/"), (std::vector<std::string>{"home", "tmp", "workspace"}));
}

BoxFiles files_at(const std::string& host_root) {
  return BoxFiles(base::UniqueFd(::open(host_root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
                  Identity{});
}

TEST_F(FilesWrite, ReadOnlyMountIsNamed) {
  if (!is_root()) GTEST_SKIP() << "mounts need root";
  fs::create_directory(host("/usr"));
  in_own_mounts([&] {
    ASSERT_EQ(::mount("tmpfs", host("/usr").c_str(), "tmpfs", MS_RDONLY, nullptr), 0);
    const auto result = files_at(host("")).write("/usr/a", "x", WriteMode::kOverwrite);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(text_of(result.error()),
              "invalid: /usr/a: is read-only; writing is possible in /workspace, /home/user and "
              "/tmp");
  });
}

TEST_F(FilesWrite, FullFileSystemIsALimitAndLeavesNothing) {
  if (!is_root()) GTEST_SKIP() << "mounts need root";
  in_own_mounts([&] {
    ASSERT_EQ(::mount("tmpfs", host("/workspace").c_str(), "tmpfs", 0, "size=64k"), 0);
    const BoxFiles mounted = files_at(host(""));
    EXPECT_TRUE(mounted.write("a", "old", WriteMode::kOverwrite).ok());
    for (const WriteMode mode : {WriteMode::kOverwrite, WriteMode::kAppend}) {
      const auto result = mounted.write("a", std::string(100'000, 'x'), mode);
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.error().kind, Error::Kind::kLimit);
    }
    EXPECT_EQ(mounted.read("a", 0, 100).value().content, "old");
    EXPECT_EQ(names("/workspace").size(), 1U);
  });
}

// A rename from another mount namespace would silently take such a mount away (rename(2)).
TEST_F(FilesWrite, AMountedFileIsWrittenInPlaceAndStaysMounted) {
  if (!is_root()) GTEST_SKIP() << "mounts need root";
  put_at(outside("allowed"), "old");
  put_at(outside("masked"), "mask");
  put("/workspace/allowed", "below");
  put("/workspace/masked", "below");
  std::promise<base::UniqueFd> mounted;
  std::promise<void> finished;
  // The mounts live as long as this thread.
  std::thread other([&] {
    in_own_mounts([&] {
      const std::string allowed = host("/workspace/allowed");
      const std::string masked = host("/workspace/masked");
      EXPECT_EQ(::mount(outside("allowed").c_str(), allowed.c_str(), nullptr, MS_BIND, nullptr), 0);
      EXPECT_EQ(::mount(outside("masked").c_str(), masked.c_str(), nullptr, MS_BIND, nullptr), 0);
      EXPECT_EQ(
          ::mount(nullptr, masked.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr), 0);
      mounted.set_value(base::UniqueFd(::open(host("").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
      finished.get_future().wait();
    });
  });
  const BoxFiles from_outside(mounted.get_future().get(), Identity{});
  EXPECT_TRUE(from_outside.write("allowed", "new", WriteMode::kOverwrite).ok());
  EXPECT_EQ(from_outside.read("allowed", 0, 100).value().content, "new");
  EXPECT_FALSE(from_outside.write("masked", "new", WriteMode::kOverwrite).ok());
  EXPECT_EQ(from_outside.read("masked", 0, 100).value().content, "mask");
  finished.set_value();
  other.join();
  EXPECT_EQ(get("/workspace/masked"), "below");
  EXPECT_EQ(get("/workspace/allowed"), "below");
}

}  // namespace
