// Tests what hutch-box counts where the kernel counts nothing for it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "sandbox/box/deleted_files.h"
#include "sandbox/box/process_memory.h"
#include "sandbox/box/process_tree.h"
#include "sandbox/box/socket_memory.h"
#include "sandbox/box/usage.h"
#include "sandbox/disk_quota.h"
#include "sandbox/own_ids.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace sandbox;
using namespace sandbox::box;

constexpr std::size_t kMebibyte = 1 << 20;

std::vector<DeletedFile> deleted_files_of(const std::vector<pid_t>& pids) {
  base::WorkBudget budget({.steps = 1'000'000, .cpu_time = std::chrono::minutes(10)});
  return deleted_open_files(pids, budget).files;
}

std::int64_t found_bytes(int fd) {
  struct stat status {};
  EXPECT_EQ(::fstat(fd, &status), 0);
  for (const DeletedFile& file : deleted_files_of({::getpid()})) {
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

TEST(SocketMemory, TheHostsShareIsTheThirdNumberOfPages) {
  EXPECT_EQ(bytes_of_protocol("287901\t383869\t575802\n", 4096), 575802 * 4096LL);
  EXPECT_EQ(bytes_of_protocol("1 2", 4096), 0);
  EXPECT_EQ(bytes_of_protocol("", 4096), 0);
  EXPECT_EQ(bytes_of_protocol("0 0 9223372036854775807", 4096) / 4096, INT64_MAX / 4096);
  const SocketBounds bounds = read_socket_bounds(2048LL << 20);
  EXPECT_EQ(bounds.bytes, 512LL << 20);
  EXPECT_GT(bounds.tcp_bytes, 0);
  EXPECT_GT(bounds.udp_bytes, 0);
}

TEST(SocketMemory, ASessionHasAnEighthOfWhatTheHostGivesEachProtocol) {
  const TemporaryDirectory net;
  std::filesystem::create_directories(net.path() + "/ipv4");
  net.write("ipv4/tcp_mem", "1\t2\t8000\n");
  net.write("ipv4/udp_mem", "1\t2\t1600\n");
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const SocketBounds bounds = read_socket_bounds(2048LL << 20, net.path());
  EXPECT_EQ(bounds.tcp_bytes, 1000 * page);
  EXPECT_EQ(bounds.udp_bytes, 200 * page);
  // One number is not shown in a namespace of one's own: the part that the kernel shares out at its
  // start: UDP's is twice TCP's.
  const TemporaryDirectory nothing;
  const SocketBounds usual = read_socket_bounds(2048LL << 20, nothing.path());
  EXPECT_GT(usual.tcp_bytes, 0);
  EXPECT_NEAR(static_cast<double>(usual.udp_bytes) / static_cast<double>(usual.tcp_bytes), 2,
              0.001);
}

TEST(SocketMemory, WhatWaitsInUdpSocketsIsHeldAgainstItsShare) {
  constexpr int kSockets = 40;  // more in all than each processor keeps to itself
  const std::string datagram(60'000, 'x');
  std::vector<base::UniqueFd> sockets;
  for (int i = 0; i < kSockets; ++i) {
    sockets.emplace_back(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const int fd = sockets.back().get();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(::bind(fd, generic, size), 0);
    ASSERT_EQ(::getsockname(fd, generic, &size), 0);
    for (int sent = 0; sent < 3; ++sent) {
      (void)::sendto(fd, datagram.data(), datagram.size(), MSG_DONTWAIT, generic, size);
    }
  }
  constexpr std::int64_t kMuch = 1LL << 40;
  SocketBounds bounds{.bytes = kMuch, .tcp_bytes = kMuch, .udp_bytes = kMuch, .one_bytes = kMuch};
  const auto measure = [&bounds] {
    base::WorkBudget budget({.steps = 1'000'000, .cpu_time = std::chrono::minutes(10)});
    return measure_sockets(::getpid(), bounds, budget);
  };
  EXPECT_EQ(measure(), SocketMemory::kWithin);
  bounds.udp_bytes = kMebibyte / 4;
  EXPECT_EQ(measure(), SocketMemory::kBeyondHost);
}

TEST(SocketMemory, WhatTheHostHasInUse) {
  const std::string sockstat =
      "sockets: used 20\nTCP: inuse 3 orphan 0 tw 0 alloc 3 mem 428\nUDP: inuse 0 mem 7\n";
  EXPECT_EQ(pages_in_use(sockstat, "TCP"), 428);
  EXPECT_EQ(pages_in_use(sockstat, "UDP"), 7);
  EXPECT_EQ(sockets_in_use("sockets: used 9\nTCP: inuse 12 orphan 3 tw 1 alloc 4 mem 428\n", "TCP"),
            12);
  EXPECT_EQ(sockets_in_use("TCP6: inuse 5\nUDP6: inuse 6\n", "UDP6"), 6);
  EXPECT_EQ(sockets_in_use("TCP6: inuse 5\n", "TCP"), 0);
  EXPECT_EQ(pages_in_use(sockstat, "RAW"), 0);
}

// Bounds of looks are beyond what an honest session of these limits has.
TEST(LookBounds, AnHonestSessionAtItsLimitsIsWithin) {
  const Limits usual;
  const LookBounds bounds = look_bounds(usual);
  EXPECT_GE(bounds.names.steps, 2 * usual.files);
  EXPECT_GE(bounds.names.cpu_time, std::chrono::seconds(2));  // measured: 0.28
  EXPECT_GE(bounds.descriptors.steps, 2 * usual.processes * usual.open_files);
  EXPECT_GE(bounds.descriptors.cpu_time, std::chrono::seconds(2));  // measured: 0.9
  EXPECT_GE(bounds.processes.steps, 4 * usual.processes);
  const Limits least{.processes = 8, .files = 100, .open_files = 64};
  EXPECT_GE(look_bounds(least).descriptors.steps, 2 * least.processes * least.open_files);
  // However much the operator allows, a look ends.
  const Limits most{.processes = 32768, .open_files = 1048576};
  EXPECT_LE(look_bounds(most).descriptors.cpu_time, std::chrono::seconds(10));
}

TEST(WorkBudget, IsSpentByStepsAndByProcessorTime) {
  base::WorkBudget steps({.steps = 2, .cpu_time = std::chrono::minutes(1)});
  EXPECT_TRUE(steps.take());
  EXPECT_TRUE(steps.take());
  EXPECT_FALSE(steps.spent());
  EXPECT_FALSE(steps.take());
  EXPECT_TRUE(steps.spent());
  base::WorkBudget time({.steps = INT64_MAX, .cpu_time = std::chrono::milliseconds(1)});
  while (time.take()) {
  }
  EXPECT_TRUE(time.spent());
}

TEST(DeletedFiles, NoMoreIsLookedAtThanTheBudgetSays) {
  std::vector<base::UniqueFd> held;
  for (int i = 0; i < 100; ++i) held.emplace_back(::memfd_create("many", MFD_CLOEXEC));
  base::WorkBudget budget({.steps = 50, .cpu_time = std::chrono::minutes(1)});
  EXPECT_LT(deleted_open_files({::getpid()}, budget).files.size(), 50U);
  EXPECT_TRUE(budget.spent());
  EXPECT_GE(deleted_files_of({::getpid()}).size(), 100U);
}

TEST(DeletedFiles, AFileMayBeEnough) {
  std::vector<base::UniqueFd> held;
  for (int i = 0; i < 10; ++i) held.emplace_back(::memfd_create("enough", MFD_CLOEXEC));
  base::WorkBudget budget({.steps = 1'000'000, .cpu_time = std::chrono::minutes(1)});
  int told = 0;
  const auto found = deleted_open_files({::getpid(), ::getpid()}, budget, {},
                                        [&told](const DeletedFile&) { return ++told == 3; });
  EXPECT_EQ(found.files.size(), 3U);
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
  const auto files = deleted_files_of({::getpid(), ::getpid()});
  EXPECT_EQ(std::count_if(files.begin(), files.end(),
                          [&status](const DeletedFile& file) {
                            return file.inode == status.st_ino && file.device == status.st_dev;
                          }),
            1);
  EXPECT_EQ(found_bytes(fd.get()), static_cast<std::int64_t>(kMebibyte));
}

TEST(DeletedFiles, AnEndedProcessHasNone) { EXPECT_TRUE(deleted_files_of({0x7ffffff0}).empty()); }

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
  const auto files = deleted_files_of({::getpid()});
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

// Reading what was never written takes no memory but for the tables that lead to it.
TEST(ProcessMemory, PageTablesCount) {
  constexpr std::size_t kStep = 2 * kMebibyte;
  constexpr std::size_t kTables = 4096;  // each has a page, which leads to 2 MiB
  const std::int64_t before = resident_memory(::getpid()).anonymous_bytes;
  const std::int64_t truth_before = proportional_memory(::getpid()).anonymous_bytes;
  auto* empty = static_cast<volatile char*>(::mmap(
      nullptr, kStep * kTables, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(static_cast<volatile void*>(empty), MAP_FAILED);
  ::madvise(const_cast<char*>(empty), kStep * kTables, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < kTables; ++i) (void)empty[i * kStep];
  constexpr std::int64_t kSeen = kTables * 4096 * 9 / 10;
  EXPECT_GE(resident_memory(::getpid()).anonymous_bytes - before, kSeen);
  EXPECT_GE(proportional_memory(::getpid()).anonymous_bytes - truth_before, kSeen);
  ::munmap(const_cast<char*>(empty), kStep * kTables);
}

// Children that share what they have are less than they have resident, however few are asked at
// each look; memory of one's own is found at once among them.
class Children {
 public:
  explicit Children(int count) {
    EXPECT_EQ(::pipe2(hold_, O_CLOEXEC), 0);
    for (int i = 0; i < count; ++i) add(0);
  }
  ~Children() {
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    for (const int end : hold_) ::close(end);
  }
  // Returns once the child has filled as much.
  pid_t add(std::size_t bytes) {
    int ready[2];
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      void* own =
          ::mmap(nullptr, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (own != MAP_FAILED) std::memset(own, 1, bytes);
      (void)!::write(ready[1], "x", 1);
      ::pause();
      ::_exit(0);
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    for (const int end : ready) ::close(end);
    pids_.push_back(pid);
    return pid;
  }
  [[nodiscard]] const std::vector<pid_t>& pids() const { return pids_; }

 private:
  int hold_[2] = {-1, -1};
  std::vector<pid_t> pids_;
};

TEST(MemoryLedger, WhatIsSharedCountsOnceThoughFewAreAskedAtEachLook) {
  constexpr std::size_t kShared = 64 * kMebibyte;
  void* shared =
      ::mmap(nullptr, kShared, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  std::memset(shared, 1, kShared);
  Children children(8);
  const ProcessMemory one = resident_memory(children.pids().front());
  const std::int64_t most = 2 * (one.anonymous_bytes + one.shared_bytes);
  MemoryLedger ledger;
  // Nobody's time: one is asked at each look.
  const MemoryLedger::Question question{
      .bytes_max = most, .unmapped_bytes = 0, .asking_time_max = std::chrono::nanoseconds(0)};
  for (int look = 0; look < 20; ++look) {
    const auto sum = ledger.look(children.pids(), question, {});
    EXPECT_EQ(sum.largest, -1);
    EXPECT_LE(sum.bytes, question.bytes_max);
  }
  const pid_t large = children.add(static_cast<std::size_t>(most));
  pid_t found = -1;
  for (int look = 0; look < 3 && found < 0; ++look) {
    found = ledger.look(children.pids(), question, {}).largest;
  }
  EXPECT_EQ(found, large);
  ::munmap(shared, kShared);
}

TEST(MemoryLedger, WhatNobodyHasMappedIsSomebodys) {
  const Children children(2);
  MemoryLedger ledger;
  const auto sum = ledger.look(children.pids(),
                               {.bytes_max = kMebibyte << 10,
                                .unmapped_bytes = kMebibyte << 11,
                                .asking_time_max = std::chrono::milliseconds(100)},
                               {});
  EXPECT_GT(sum.bytes, static_cast<std::int64_t>(kMebibyte << 10));
  EXPECT_NE(sum.largest, -1);
}

// The work of a quota, where there is one, is tested in the virtual machine (tests/vm).
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
