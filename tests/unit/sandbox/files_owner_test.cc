// Giving whole trees to another id.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "sandbox/files/change_owner.h"
#include "tests/unit/sandbox/files_fixture.h"

namespace {

using namespace files_test;
using sandbox::files::change_owner;

constexpr std::uint32_t kFormerOwner = 1'900'000'123;
constexpr std::uint32_t kNewOwner = 1'900'000'456;

class FilesOwner : public FilesTest {
 protected:
  explicit FilesOwner(const std::string& parent = "/tmp") : FilesTest(parent) {}

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "changing owners needs root";
  }

  base::Status change(const sandbox::files::OwnerProgress& progress = [](auto, auto) {}) const {
    return change_owner(root_fd(), "workspace", kNewOwner, progress);
  }
  static struct stat look(const std::string& host_path) {
    struct stat status {};
    EXPECT_EQ(::lstat(host_path.c_str(), &status), 0) << host_path;
    return status;
  }
  [[nodiscard]] uid_t owner(const std::string& path) const { return look(host(path)).st_uid; }
  void own(const std::string& path, uid_t id = kFormerOwner) const {
    ASSERT_EQ(::lchown(host(path).c_str(), id, id), 0) << path;
  }
  void put_owned(const std::string& path, const std::string& content) const {
    put(path, content);
    own(path);
  }
};

TEST_F(FilesOwner, EverythingChangesButWhatIsRoots) {
  put_owned("/workspace/a/b", "x");
  put("/workspace/a/roots", "x");
  ASSERT_EQ(::mkfifo(host("/workspace/a/pipe").c_str(), 0600), 0);
  fs::create_symlink(outside("canary"), host("/workspace/link"));
  for (const char* path : {"/workspace/a", "/workspace/a/pipe", "/workspace/link", "/workspace"}) {
    own(path);
  }
  ASSERT_EQ(::chmod(host("/workspace/a").c_str(), 0), 0);
  ASSERT_TRUE(change().ok());
  for (const char* path :
       {"/workspace", "/workspace/a", "/workspace/a/b", "/workspace/a/pipe", "/workspace/link"}) {
    EXPECT_EQ(look(host(path)).st_uid, kNewOwner) << path;
    EXPECT_EQ(look(host(path)).st_gid, kNewOwner) << path;
  }
  EXPECT_EQ(owner("/workspace/a/roots"), 0U);
  EXPECT_EQ(look(outside("canary")).st_uid, 0U) << "the link was followed";
  EXPECT_EQ(look(host("/workspace/a")).st_mode & 07777, 0U);
}

TEST_F(FilesOwner, AllOfADirectoryThatIsRootsChanges) {
  put("/workspace/a/b", "x");
  ASSERT_TRUE(change().ok());
  for (const char* path : {"/workspace", "/workspace/a", "/workspace/a/b"}) {
    EXPECT_EQ(owner(path), kNewOwner) << path;
  }
}

TEST_F(FilesOwner, AFileWithANameOutsideStaysAsItIsThere) {
  put_owned("/workspace/inside", "inside");
  fs::create_hard_link(host("/workspace/inside"), host("/workspace/again"));
  put_owned("/workspace/shared", "shared");
  fs::create_hard_link(host("/workspace/shared"), host("/workspace/twice"));
  fs::create_hard_link(host("/workspace/shared"), outside("backup"));
  ASSERT_EQ(::chmod(outside("backup").c_str(), 0640), 0);
  const timespec times[] = {{.tv_sec = 1'000'000, .tv_nsec = 0},
                            {.tv_sec = 2'000'000, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, outside("backup").c_str(), times, 0), 0);
  own("/workspace");
  ASSERT_TRUE(change().ok());
  EXPECT_EQ(look(outside("backup")).st_uid, kFormerOwner);
  EXPECT_EQ(look(outside("backup")).st_nlink, 1U);
  for (const char* path : {"/workspace/shared", "/workspace/twice"}) {
    EXPECT_EQ(owner(path), kNewOwner) << path;
    EXPECT_EQ(get(path), "shared") << path;
    EXPECT_EQ(look(host(path)).st_mode & 07777, 0640U) << path;
    EXPECT_EQ(look(host(path)).st_mtim.tv_sec, 2'000'000) << path;
  }
  EXPECT_EQ(owner("/workspace/inside"), kNewOwner);
  EXPECT_EQ(look(host("/workspace/inside")).st_nlink, 2U) << "in the tree it stays one file";
}

TEST_F(FilesOwner, AMountIsNotCrossed) {
  put_owned("/workspace/a/b", "x");
  own("/workspace");
  const pid_t child = ::fork();
  if (child == 0) {
    const bool good = ::unshare(CLONE_NEWNS) == 0 &&
                      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                      ::mkdir(host("/workspace/mount").c_str(), 0755) == 0 &&
                      ::mount((top_ + "/outside").c_str(), host("/workspace/mount").c_str(),
                              nullptr, MS_BIND, nullptr) == 0;
    ::_exit(good && change().ok() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(look(outside("canary")).st_uid, 0U);
  EXPECT_EQ(owner("/workspace/a/b"), kNewOwner);
  EXPECT_EQ(owner("/workspace"), kNewOwner);
}

// Where making many files is quick.
class ManyFilesOwner : public FilesOwner {
 protected:
  ManyFilesOwner() : FilesOwner(::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") {}
};

TEST_F(ManyFilesOwner, WhatAKillCutShortBeginsAnew) {
  constexpr int kFiles = 10'500;
  for (int i = 0; i < kFiles; ++i) put_owned("/workspace/" + std::to_string(i), "");
  own("/workspace");
  const pid_t child = ::fork();
  if (child == 0) {
    (void)change([](auto, auto) { (void)::raise(SIGKILL); });
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it told of 10,000";
  EXPECT_EQ(owner("/workspace"), kFormerOwner) << "which says that it is not done";
  std::int64_t told = 0;
  ASSERT_TRUE(change([&](std::int64_t, std::int64_t all) { told = all; }).ok());
  EXPECT_EQ(told, kFiles);
  EXPECT_EQ(owner("/workspace"), kNewOwner);
  for (int i = 0; i < kFiles; i += 50)
    EXPECT_EQ(owner("/workspace/" + std::to_string(i)), kNewOwner);
}

TEST_F(FilesOwner, NothingIsDoneTwice) {
  own("/workspace", kNewOwner);
  put_owned("/workspace/a", "x");
  ASSERT_TRUE(change().ok());
  EXPECT_EQ(owner("/workspace/a"), kFormerOwner);
}

TEST_F(FilesOwner, ALinkInPlaceOfTheDirectoryIsRefused) {
  fs::remove_all(host("/workspace"));
  fs::create_directory_symlink(top_ + "/outside", host("/workspace"));
  EXPECT_FALSE(change().ok());
  EXPECT_EQ(look(outside("canary")).st_uid, 0U);
}

}  // namespace
