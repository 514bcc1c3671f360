// As root: the session's files are touched with the session's ids and no right of root.
#include <grp.h>
#include <sys/syscall.h>

#include <future>
#include <thread>

#include "sandbox/files/acting_ids.h"
#include "tests/unit/sandbox/files_fixture.h"

namespace {

using namespace files_test;
using sandbox::files::ActingIds;

constexpr uid_t kSession = 1'900'000'001;
constexpr uid_t kNeighbour = 1'900'000'002;
const Identity kIdentity{kSession, kSession, true};

std::string status_line(const std::string& key) {
  std::ifstream status("/proc/thread-self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return line.substr(key.size());
  }
  return "";
}

class FilesIdentity : public FilesTest {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "ids are switched as root only";
    for (const char* path : {"/workspace", "/home/user", "/tmp"}) {
      ASSERT_EQ(::chown(host(path).c_str(), kSession, kSession), 0);
    }
  }
  void expect_owner(const std::string& path) const {
    struct stat status {};
    ASSERT_EQ(::lstat(host(path).c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, kSession) << path;
    EXPECT_EQ(status.st_gid, kSession) << path;
  }
};

TEST_F(FilesIdentity, GuardTakesAllAndGivesAllBack) {
  const std::string capabilities = status_line("CapEff:");
  const std::string groups = status_line("Groups:");
  {
    const ActingIds ids(kIdentity);
    ASSERT_TRUE(ids.status().ok());
    EXPECT_EQ(status_line("Uid:"), "\t0\t0\t0\t1900000001");
    EXPECT_EQ(status_line("Gid:"), "\t0\t0\t0\t1900000001");
    EXPECT_EQ(status_line("CapEff:"), "\t00000000000000c0");  // CAP_SETGID and CAP_SETUID
    EXPECT_EQ(status_line("Groups:"), "\t ");
  }
  EXPECT_EQ(status_line("Uid:"), "\t0\t0\t0\t0");
  EXPECT_EQ(status_line("Gid:"), "\t0\t0\t0\t0");
  EXPECT_EQ(status_line("CapEff:"), capabilities);
  EXPECT_EQ(status_line("Groups:"), groups);
}

TEST_F(FilesIdentity, OtherThreadsKeepTheirRights) {
  const std::string capabilities = status_line("CapEff:");
  std::promise<void> switched;
  std::promise<void> looked;
  std::thread other([&] {
    switched.get_future().wait();
    EXPECT_EQ(status_line("Uid:"), "\t0\t0\t0\t0");
    EXPECT_EQ(status_line("CapEff:"), capabilities);
    {
      const ActingIds ids(Identity{kNeighbour, kNeighbour, true});
      EXPECT_EQ(status_line("Uid:"), "\t0\t0\t0\t1900000002");
    }
    looked.set_value();
  });
  {
    const ActingIds ids(kIdentity);
    switched.set_value();
    looked.get_future().wait();
    EXPECT_EQ(status_line("Uid:"), "\t0\t0\t0\t1900000001");
  }
  other.join();
}

TEST_F(FilesIdentity, WithoutSwitchingNothingChanges) {
  const std::string before = status_line("CapEff:");
  const ActingIds ids(Identity{});
  EXPECT_TRUE(ids.status().ok());
  EXPECT_EQ(status_line("CapEff:"), before);
}

TEST_F(FilesIdentity, SupplementaryGroupsGrantNothing) {
  std::thread([&] {
    const gid_t group = 4242;
    ASSERT_EQ(::syscall(SYS_setgroups, 1, &group), 0);
    put("/workspace/a", "for the group");
    ASSERT_EQ(::chown(host("/workspace/a").c_str(), 0, group), 0);
    ASSERT_EQ(::chmod(host("/workspace/a").c_str(), 0640), 0);
    EXPECT_FALSE(files(kIdentity).read("a", 0, 100).ok());
    EXPECT_EQ(status_line("Groups:"), "\t4242 ");
  }).join();
}

TEST_F(FilesIdentity, WhatIsMadeBelongsToTheSession) {
  const auto result = files(kIdentity).write("x/y/a", "1", WriteMode::kOverwrite);
  ASSERT_TRUE(result.ok()) << text_of(result.error());
  for (const char* path : {"/workspace/x", "/workspace/x/y", "/workspace/x/y/a"}) {
    expect_owner(path);
  }
  EXPECT_EQ(mode_of("/workspace/x"), 0755U);
  EXPECT_EQ(mode_of("/workspace/x/y/a"), 0644U);
  EXPECT_TRUE(files(kIdentity).write("x/y/a", "2", WriteMode::kOverwrite).ok());
  EXPECT_TRUE(files(kIdentity).write("log", "2", WriteMode::kAppend).ok());
  expect_owner("/workspace/x/y/a");
  expect_owner("/workspace/log");
  EXPECT_EQ(names("/workspace/x/y"), std::vector<std::string>{"a"});
}

TEST_F(FilesIdentity, ReadsAndListsItsOwn) {
  ASSERT_TRUE(files(kIdentity).write("d/a", "mine", WriteMode::kOverwrite).ok());
  ASSERT_EQ(::chmod(host("/workspace/d/a").c_str(), 0600), 0);
  ASSERT_EQ(::chmod(host("/workspace/d").c_str(), 0700), 0);
  EXPECT_EQ(files(kIdentity).read("d/a", 0, 10).value().content, "mine");
  EXPECT_EQ(files(kIdentity).list("d", {}).value().entries.size(), 1U);
  EXPECT_TRUE(files(kIdentity).open("d/a").ok());
}

TEST_F(FilesIdentity, RootsFilesAreOutOfReach) {
  put("/workspace/secret", "root's");
  ASSERT_EQ(::chmod(host("/workspace/secret").c_str(), 0600), 0);
  fs::create_directory(host("/etc"));
  EXPECT_FALSE(files(kIdentity).read("secret", 0, 10).ok());
  EXPECT_FALSE(files(kIdentity).open("secret").ok());
  EXPECT_FALSE(files(kIdentity).write("secret", "x", WriteMode::kAppend).ok());
  EXPECT_FALSE(files(kIdentity).write("secret", "x", WriteMode::kOverwrite).ok());
  const auto result = files(kIdentity).write("/etc/passwd", "x", WriteMode::kCreate);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(text_of(result.error()),
            "invalid: /etc/passwd: permission denied; writing is possible in /workspace, "
            "/home/user and /tmp");
}

TEST_F(FilesIdentity, NeighboursFilesAreOutOfReach) {
  put("/workspace/theirs", "secret");
  ASSERT_EQ(::chown(host("/workspace/theirs").c_str(), kNeighbour, kNeighbour), 0);
  ASSERT_EQ(::chmod(host("/workspace/theirs").c_str(), 0600), 0);
  EXPECT_FALSE(files(kIdentity).read("theirs", 0, 10).ok());
}

TEST_F(FilesIdentity, ModesOfItsOwnHoldAsForTheCode) {
  ASSERT_TRUE(files(kIdentity).write("fixed", "x", WriteMode::kOverwrite).ok());
  ASSERT_EQ(::chmod(host("/workspace/fixed").c_str(), 0444), 0);
  const auto result = files(kIdentity).write("fixed", "y", WriteMode::kOverwrite);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("permission denied"), std::string::npos);
  ASSERT_TRUE(files(kIdentity).write("closed/x", "x", WriteMode::kOverwrite).ok());
  ASSERT_EQ(::chmod(host("/workspace/closed").c_str(), 0), 0);
  EXPECT_FALSE(files(kIdentity).list("closed", {}).ok());
}

TEST(FilesIdentityAsUser, SwitchingWithoutTheRightIsAnError) {
  if (is_root()) GTEST_SKIP() << "root has the right";
  const ActingIds ids(kIdentity);
  EXPECT_FALSE(ids.status().ok());
}

}  // namespace
