// What hutch-box counts where the kernel counts nothing for it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "sandbox/base/fd.h"
#include "sandbox/box/deleted_files.h"
#include "sandbox/box/process_memory.h"
#include "sandbox/box/process_tree.h"
#include "sandbox/box/socket_memory.h"
#include "sandbox/disk_quota.h"
#include "sandbox/own_ids.h"

namespace {

using namespace sandbox;
using namespace sandbox::box;

constexpr std::size_t kMebibyte = 1 << 20;

std::int64_t found_bytes(int fd) {
  struct stat status {};
  EXPECT_EQ(::fstat(fd, &status), 0);
  for (const DeletedFile& file : deleted_open_files({::getpid()}).files) {
    if (file.device == status.st_dev && file.inode == status.st_ino) return file.bytes;
  }
  return -1;
}

void fill(int fd) {
  const std::string megabyte(kMebibyte, 'x');
  ASSERT_EQ(::write(fd, megabyte.data(), megabyte.size()), static_cast<ssize_t>(kMebibyte));
  ASSERT_EQ(::fsync(fd), 0);  // some file systems give out blocks late
}

TEST(SocketMemory, WhatIsLessThanNothingIsNothing) {
  const auto line = [](const std::string& queues) {
    return "   0: 0100007F:0C38 0100007F:9C40 01 " + queues + " 00:00000000 00000000 1000";
  };
  EXPECT_EQ(queued_bytes(line("00001000:00000100")), 0x1100);
  EXPECT_EQ(queued_bytes(line("FFFFFFF6:00000100")), 0x100);
  EXPECT_EQ(queued_bytes(line("00000000:FFFFFFFF")), 0);
  EXPECT_EQ(queued_bytes("   0: nothing"), 0);
}

TEST(DeletedFiles, AFileCountsOnceItsNameIsGone) {
  std::string path = ::testing::TempDir() + "hutch_deleted_XXXXXX";
  const base::UniqueFd fd(::mkstemp(path.data()));
  ASSERT_TRUE(fd.valid());
  fill(fd.get());
  EXPECT_EQ(found_bytes(fd.get()), -1);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  EXPECT_GE(found_bytes(fd.get()), static_cast<std::int64_t>(kMebibyte));
}

TEST(DeletedFiles, TwoDescriptorsOfOneFileCountOnce) {
  const base::UniqueFd fd(::memfd_create("counted", MFD_CLOEXEC));
  ASSERT_TRUE(fd.valid());
  fill(fd.get());
  const base::UniqueFd again(::dup(fd.get()));
  struct stat status {};
  ASSERT_EQ(::fstat(fd.get(), &status), 0);
  const auto files = deleted_open_files({::getpid(), ::getpid()}).files;
  EXPECT_EQ(std::count_if(files.begin(), files.end(),
                          [&status](const DeletedFile& file) {
                            return file.inode == status.st_ino && file.device == status.st_dev;
                          }),
            1);
  EXPECT_EQ(found_bytes(fd.get()), static_cast<std::int64_t>(kMebibyte));
}

TEST(DeletedFiles, AnEndedProcessHasNone) {
  EXPECT_TRUE(deleted_open_files({0x7ffffff0}).files.empty());
}

// A thread may have left the table of the others, or outlive the first one.
TEST(DeletedFiles, ATableOfOneThreadIsLookedInto) {
  std::promise<int> made;
  std::promise<void> seen;
  std::thread alone([&made, &seen] {
    if (::unshare(CLONE_FILES) != 0) return made.set_value(-1);
    const base::UniqueFd fd(::memfd_create("of one thread", MFD_CLOEXEC));
    fill(fd.get());
    struct stat status {};
    (void)::fstat(fd.get(), &status);
    made.set_value(static_cast<int>(status.st_ino));
    seen.get_future().wait();
  });
  const int inode = made.get_future().get();
  const auto files = deleted_open_files({::getpid()}).files;
  seen.set_value();
  alone.join();
  EXPECT_TRUE(std::any_of(files.begin(), files.end(), [inode](const DeletedFile& file) {
    return static_cast<int>(file.inode) == inode;
  }));
}

TEST(ProcessMemory, SharedAndAnonymousAreToldApart) {
  const ProcessMemory before = resident_memory(::getpid());
  constexpr std::size_t kBytes = 32 * kMebibyte;
  void* own = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* shared = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(own, MAP_FAILED);
  ASSERT_NE(shared, MAP_FAILED);
  std::memset(own, 1, kBytes);
  std::memset(shared, 1, kBytes);
  const ProcessMemory after = resident_memory(::getpid());
  constexpr auto kSeen = static_cast<std::int64_t>(kBytes * 9 / 10);
  EXPECT_GE(after.anonymous_bytes - before.anonymous_bytes, kSeen);
  EXPECT_GE(after.shared_bytes - before.shared_bytes, kSeen);
  const ProcessMemory truth = proportional_memory(::getpid());
  EXPECT_GE(truth.anonymous_bytes, kSeen);
  EXPECT_GE(truth.shared_bytes, kSeen);
  EXPECT_GE(truth.nameless_bytes, kSeen);
  EXPECT_LE(truth.nameless_bytes, truth.shared_bytes);
  ::munmap(own, kBytes);
  ::munmap(shared, kBytes);
}

// What a quota does where there is one is tested in the virtual machine (tests/vm).
TEST(DiskQuota, WithoutProjectQuotasNothingIsTouched) {
  constexpr const char* kTmpfs = "/dev/shm";
  const base::UniqueFd directory(::open(kTmpfs, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(directory.valid());
  EXPECT_EQ(DiskQuota::hold({directory.get()}, 1900000001, Limits{}), nullptr);
  EXPECT_EQ(DiskQuota::hold({}, 1900000001, Limits{}), nullptr);
  release_disk_quota("/nowhere");
}

TEST(OwnIds, WhoOneIsOutside) {
  EXPECT_EQ(id_outside("         0          0 4294967295\n", 0), 0);
  EXPECT_EQ(id_outside("0 1000 1\n1 100000 65536\n", 0), 1000);
  EXPECT_EQ(id_outside("0 1000 1\n1 100000 65536\n", 3), 100002);
  EXPECT_EQ(id_outside("1000 0 1\n", 1000), 0);
  EXPECT_EQ(id_outside("0 1000 1\n", 1), -1);
  EXPECT_EQ(id_outside("", 0), -1);
}

TEST(OwnIds, ARangeMustBeWhollyMapped) {
  constexpr std::int64_t kFirst = 1'900'000'000;
  EXPECT_TRUE(map_has_ids("         0          0 4294967295\n", kFirst, 100'000));
  EXPECT_FALSE(map_has_ids("0 1000 1\n1 100000 65536\n", kFirst, 100'000));
  EXPECT_TRUE(map_has_ids("0 1000 1\n1900000000 5 100000\n", kFirst, 100'000));
  EXPECT_FALSE(map_has_ids("1900000000 5 99999\n", kFirst, 100'000));
  EXPECT_FALSE(map_has_ids("", kFirst, 1));
  EXPECT_FALSE(map_has_ids("garbage", kFirst, 1));
}

TEST(ProcessTree, ChildrenAndGrandchildren) {
  // The shell says when its child is there, and ends with the pipe it reads from.
  int said[2];
  int hold[2];
  ASSERT_EQ(::pipe2(said, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(hold, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, hold[0], 0);
  posix_spawn_file_actions_adddup2(&actions, said[1], 1);
  // By another number: a background command has /dev/null as its standard input.
  const char* argv[] = {"sh", "-c", "exec 3<&0; sh -c 'echo up; read x <&3' & wait", nullptr};
  pid_t shell = -1;
  const int started =
      ::posix_spawn(&shell, "/bin/sh", &actions, nullptr, const_cast<char**>(argv), environ);
  posix_spawn_file_actions_destroy(&actions);
  ASSERT_EQ(started, 0);
  char up[3];
  ASSERT_EQ(::read(said[0], up, sizeof up), 3);
  const auto below_us = read_descendants(::getpid());
  EXPECT_NE(std::find(below_us.begin(), below_us.end(), shell), below_us.end());
  EXPECT_GE(read_descendants(shell).size(), 1U);
  EXPECT_GE(below_us.size(), 2U);
  ::close(hold[1]);
  int status = 0;
  EXPECT_EQ(::waitpid(shell, &status, 0), shell);
  EXPECT_TRUE(read_descendants(shell).empty());
  for (const int fd : {said[0], said[1], hold[0]}) ::close(fd);
}

}  // namespace
