// Each entry of sandbox/policy/default.json is run through the compiled program.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bpf_evaluator.h"
#include "sandbox/policy/default_filter.h"
#include "tests/support/source_directory.h"

namespace {

using nlohmann::json;

constexpr std::uint32_t kErrno = SECCOMP_RET_ERRNO;

json policy() {
  std::ifstream file(source_directory() + "/sandbox/policy/default.json");
  return json::parse(file);
}

seccomp_data call(long number, std::initializer_list<std::uint64_t> arguments = {}) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  data.arch = AUDIT_ARCH_X86_64;
  std::size_t i = 0;
  for (const std::uint64_t argument : arguments) data.args[i++] = argument;
  return data;
}

// The stricter of the two answers, as the kernel takes it (lower action value first).
std::uint32_t answer(const seccomp_data& data) {
  const auto calls = evaluate_bpf(sandbox::policy::kCallFilter, data);
  const auto arguments = evaluate_bpf(sandbox::policy::kArgumentFilter, data);
  if (!calls || !arguments) return 0xdead;
  const auto action = [](std::uint32_t value) {
    return static_cast<std::int32_t>(value & SECCOMP_RET_ACTION_FULL);
  };
  return action(*calls) <= action(*arguments) ? *calls : *arguments;
}

TEST(Policy, EveryEntrySaysWhy) {
  const json whole = policy();
  for (const char* list : {"entries", "arguments", "host_folders", "door"}) {
    for (const json& entry : whole[list]) {
      EXPECT_GT(entry.value("why", "").size(), 8U) << entry;
    }
  }
}

TEST(Policy, UnknownCallsAreENOSYS) {
  for (const long number : {335L, 400L, 469L, 500L, 1023L}) {
    EXPECT_EQ(answer(call(number)), kErrno | ENOSYS) << number;
  }
}

TEST(Policy, ForeignArchitecturesAreKilled) {
  seccomp_data data = call(SYS_getpid);
  for (const std::uint32_t arch :
       std::initializer_list<std::uint32_t>{AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_AARCH64}) {
    data.arch = arch;
    EXPECT_EQ(answer(data), SECCOMP_RET_KILL_PROCESS) << arch;
  }
}

TEST(Policy, TheX32AbiIsKilled) {
  EXPECT_EQ(answer(call(0x40000000 | SYS_getpid)), SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(answer(call(0x40000000 | 512)), SECCOMP_RET_KILL_PROCESS);
}

TEST(Policy, Clone3FallsBack) { EXPECT_EQ(answer(call(SYS_clone3)), kErrno | ENOSYS); }

TEST(Policy, CloneMakesThreadsButNoNamespace) {
  constexpr std::uint64_t kThread = 0x3d0f00;
  EXPECT_EQ(answer(call(SYS_clone, {kThread})), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer(call(SYS_clone, {17})), SECCOMP_RET_ALLOW);
  for (const std::uint64_t flag : {0x00020000ULL, 0x02000000ULL, 0x04000000ULL, 0x08000000ULL,
                                   0x10000000ULL, 0x20000000ULL, 0x40000000ULL}) {
    EXPECT_NE(answer(call(SYS_clone, {flag | 17})), SECCOMP_RET_ALLOW) << std::hex << flag;
    // The kernel ignores the upper half of the flags; the filter must not be fooled by it.
    EXPECT_NE(answer(call(SYS_clone, {flag | 17 | (1ULL << 40)})), SECCOMP_RET_ALLOW);
  }
}

TEST(Policy, SocketFamilies) {
  for (int family = 0; family < 48; ++family) {
    const bool stream =
        answer(call(SYS_socket, {static_cast<std::uint64_t>(family), 1, 0})) == SECCOMP_RET_ALLOW;
    const bool allowed = family == 1 || family == 2 || family == 10 || family == 16;
    EXPECT_EQ(stream, allowed) << "family " << family;
  }
}

TEST(Policy, SocketTypesAndProtocols) {
  for (const std::uint64_t family : {2ULL, 10ULL}) {
    EXPECT_EQ(answer(call(SYS_socket, {family, 1 | 02000000, 6})), SECCOMP_RET_ALLOW);
    EXPECT_EQ(answer(call(SYS_socket, {family, 2, 17})), SECCOMP_RET_ALLOW);
    EXPECT_NE(answer(call(SYS_socket, {family, 3, 0})), SECCOMP_RET_ALLOW) << "raw";
    EXPECT_NE(answer(call(SYS_socket, {family, 2, 1})), SECCOMP_RET_ALLOW) << "ping";
    EXPECT_NE(answer(call(SYS_socket, {family, 1, 262})), SECCOMP_RET_ALLOW) << "MPTCP";
    EXPECT_NE(answer(call(SYS_socket, {family, 1, 132})), SECCOMP_RET_ALLOW) << "SCTP";
  }
  EXPECT_NE(answer(call(SYS_socket, {16, 3, 12})), SECCOMP_RET_ALLOW) << "netfilter netlink";
}

std::uint32_t answer_beside_host_folders(const seccomp_data& data) {
  return evaluate_bpf(sandbox::policy::kHostFolderFilter, data).value_or(0xdead);
}

TEST(Policy, NoSocketOfTheHostIsReachedFromItsFolders) {
  for (const std::uint64_t flags : {0ULL, 02000000ULL, 04000ULL, 1ULL << 40}) {
    for (const std::uint64_t type : {1ULL, 2ULL, 3ULL, 5ULL}) {
      EXPECT_EQ(answer_beside_host_folders(call(SYS_socket, {1, type | flags, 0})),
                kErrno | EAFNOSUPPORT);
    }
    for (const std::uint64_t type : {2ULL, 3ULL}) {
      EXPECT_EQ(answer_beside_host_folders(call(SYS_socketpair, {1, type | flags, 0})),
                kErrno | EPERM)
          << "sends to any address";
    }
    for (const std::uint64_t type : {1ULL, 5ULL}) {
      EXPECT_EQ(answer_beside_host_folders(call(SYS_socketpair, {1, type | flags, 0})),
                SECCOMP_RET_ALLOW);
    }
  }
  EXPECT_EQ(answer_beside_host_folders(call(SYS_socket, {1 | (1ULL << 32), 1, 0})),
            kErrno | EAFNOSUPPORT)
      << "the kernel sees the lower half";
  EXPECT_EQ(answer_beside_host_folders(call(SYS_socket, {2, 1, 0})), SECCOMP_RET_ALLOW);
}

TEST(Policy, NoSetIdFileIsLeftInFoldersOfTheHost) {
  constexpr std::uint64_t kCreate = O_CREAT | O_WRONLY;
  for (const std::uint64_t mode : {04755ULL, 02755ULL, 06000ULL}) {
    for (const seccomp_data& data :
         {call(SYS_chmod, {0, mode}), call(SYS_fchmod, {0, mode}), call(SYS_fchmodat, {0, 0, mode}),
          call(SYS_creat, {0, mode}), call(SYS_mknod, {0, mode | 0100000}),
          call(SYS_mknodat, {0, 0, mode | 0100000}), call(SYS_open, {0, kCreate, mode}),
          call(SYS_openat, {0, 0, kCreate, mode}),
          call(SYS_openat, {0, 0, O_TMPFILE | O_RDWR, mode})}) {
      EXPECT_EQ(answer_beside_host_folders(data), kErrno | EPERM) << data.nr;
    }
    EXPECT_EQ(answer_beside_host_folders(call(SYS_openat, {0, 0, O_DIRECTORY, mode})),
              SECCOMP_RET_ALLOW)
        << "without O_CREAT nobody sets the mode";
  }
  for (const std::uint64_t mode : {0755ULL, 0777ULL, 01777ULL}) {
    EXPECT_EQ(answer_beside_host_folders(call(SYS_chmod, {0, mode})), SECCOMP_RET_ALLOW);
    EXPECT_EQ(answer_beside_host_folders(call(SYS_openat, {0, 0, kCreate, mode})),
              SECCOMP_RET_ALLOW);
  }
  EXPECT_EQ(answer_beside_host_folders(call(SYS_openat2, {})), kErrno | ENOSYS);
}

TEST(Policy, SystemVIpcIsForBookkeepingOnly) {
  EXPECT_EQ(answer(call(SYS_shmget, {0, 56})), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer(call(SYS_shmget, {0, 4095})), SECCOMP_RET_ALLOW);
  for (const std::uint64_t size : {4096ULL, 1ULL << 20, 1ULL << 31, 1ULL << 32, 1ULL << 63}) {
    EXPECT_EQ(answer(call(SYS_shmget, {0, size})), kErrno | ENOSYS) << size;
  }
  EXPECT_EQ(answer(call(SYS_semget, {0, 1})), kErrno | ENOSYS);
  EXPECT_EQ(answer(call(SYS_msgget, {0})), kErrno | ENOSYS);
}

TEST(Policy, LocksButNoLeases) {
  for (const std::uint64_t command : {F_SETLK, F_SETLKW, F_OFD_SETLK, F_GETLEASE, F_SETPIPE_SZ}) {
    EXPECT_EQ(answer(call(SYS_fcntl, {3, command, 0})), SECCOMP_RET_ALLOW) << command;
  }
  for (const std::uint64_t command : {F_SETLEASE, F_NOTIFY}) {
    for (const std::uint64_t argument : {F_RDLCK, F_WRLCK, F_UNLCK}) {
      EXPECT_EQ(answer(call(SYS_fcntl, {3, command, argument})), kErrno | EPERM) << command;
    }
  }
}

TEST(Policy, NoSpaceIsTakenWithoutWriting) {
  for (const std::uint64_t mode : {0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE}) {
    EXPECT_EQ(answer(call(SYS_fallocate, {3, mode, 0, 1U << 30})), kErrno | EOPNOTSUPP) << mode;
  }
  // FS_IOC_RESVSP, FS_IOC_RESVSP64 and FS_IOC_ZERO_RANGE are in no header of the C library.
  for (const std::uint64_t request : {0x40305828, 0x4030582a, 0x40305839}) {
    EXPECT_EQ(answer(call(SYS_ioctl, {3, request})), kErrno | EOPNOTSUPP) << std::hex << request;
  }
  EXPECT_EQ(answer(call(SYS_ioctl, {3, FS_IOC_FSSETXATTR})), kErrno | EPERM);
  EXPECT_EQ(answer(call(SYS_ioctl, {3, FS_IOC_FSGETXATTR})), SECCOMP_RET_ALLOW);
}

TEST(Policy, LimitsOfTheProcessItselfButNotOfCores) {
  constexpr std::uint64_t kNew = 0x7ffe00001000;
  constexpr std::uint64_t kOld = kNew;
  for (std::uint64_t resource = 0; resource < RLIM_NLIMITS; ++resource) {
    const bool core = resource == RLIMIT_CORE;
    // An errno of 0: the caller is told that it was done, and it was not.
    const std::uint32_t expected = core ? kErrno : SECCOMP_RET_ALLOW;
    EXPECT_EQ(answer(call(SYS_setrlimit, {resource, kNew})), expected) << resource;
    EXPECT_EQ(answer(call(SYS_prlimit64, {0, resource, kNew, 0})), expected) << resource;
    // Nobody would write the old limit, so that this cannot be pretended.
    EXPECT_EQ(answer(call(SYS_prlimit64, {0, resource, kNew, kOld})),
              core ? kErrno | ENOSYS : SECCOMP_RET_ALLOW)
        << resource;
    EXPECT_EQ(answer(call(SYS_prlimit64, {0, resource, 0, kOld})), SECCOMP_RET_ALLOW) << resource;
    EXPECT_EQ(answer(call(SYS_prlimit64, {7, resource, 0, kOld})), SECCOMP_RET_ALLOW) << resource;
    EXPECT_EQ(answer(call(SYS_prlimit64, {1, resource, kNew, 0})), kErrno | ENOSYS) << resource;
  }
  constexpr std::uint64_t kHigh = 1ULL << 32;
  EXPECT_EQ(answer(call(SYS_setrlimit, {kHigh | RLIMIT_CORE, kNew})), kErrno);
  EXPECT_EQ(answer(call(SYS_prlimit64, {0, kHigh | RLIMIT_CORE, kNew})), kErrno);
  EXPECT_EQ(answer(call(SYS_prlimit64, {kHigh, RLIMIT_CORE, kNew})), kErrno);
  EXPECT_EQ(answer(call(SYS_prlimit64, {0, RLIMIT_CORE, kHigh})), kErrno);
  EXPECT_EQ(answer(call(SYS_prlimit64, {0, RLIMIT_CORE, kHigh, kHigh})), kErrno | ENOSYS);
}

TEST(Policy, NoHugePages) {
  EXPECT_EQ(answer(call(SYS_mmap, {0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS})), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer(call(SYS_mmap, {0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB})),
            kErrno | EPERM);
  EXPECT_EQ(answer(call(SYS_memfd_create, {0, MFD_CLOEXEC})), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer(call(SYS_memfd_create, {0, MFD_CLOEXEC | MFD_HUGETLB})), kErrno | EPERM);
  EXPECT_EQ(answer(call(SYS_shmget, {0, 56, SHM_HUGETLB})), kErrno | EPERM);
}

TEST(Policy, SocketsTakeNeitherBuffersNorPrograms) {
  const auto answer_to = [](int option) {
    return answer(call(SYS_setsockopt, {3, SOL_SOCKET, static_cast<std::uint64_t>(option)}));
  };
  for (const int option : {SO_SNDBUF, SO_RCVBUF}) EXPECT_EQ(answer_to(option), kErrno) << option;
  for (const int option :
       {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF}) {
    EXPECT_EQ(answer_to(option), kErrno | EPERM) << option;
  }
  for (const int option : {SO_REUSEADDR, SO_KEEPALIVE, SO_RCVTIMEO, SO_DETACH_FILTER}) {
    EXPECT_EQ(answer_to(option), SECCOMP_RET_ALLOW) << option;
  }
}

TEST(Policy, NoProcessHidesFromTheWatch) {
  EXPECT_EQ(answer(call(SYS_prctl, {PR_SET_DUMPABLE, 0})), kErrno);
  EXPECT_EQ(answer(call(SYS_prctl, {PR_SET_DUMPABLE, 1})), SECCOMP_RET_ALLOW);
}

TEST(Policy, NoFilterIsInstalledFromInside) {
  constexpr std::uint64_t kStrict = 0;
  constexpr std::uint64_t kFilter = 1;
  for (const std::uint64_t operation : {kStrict, kFilter, 2UL, 3UL, 99UL}) {
    for (const std::uint64_t flags : {0UL, 1UL, 8UL}) {
      EXPECT_EQ(answer(call(SYS_seccomp, {operation, flags})), kErrno | EINVAL) << operation;
    }
  }
  EXPECT_EQ(answer(call(SYS_prctl, {PR_SET_SECCOMP, 2, 0x1000})), kErrno | EINVAL);
  EXPECT_EQ(answer(call(SYS_prctl, {PR_GET_SECCOMP})), SECCOMP_RET_ALLOW);
}

TEST(Policy, OperationsOfPrctlAreOnAList) {
  std::set<std::uint64_t> allowed;
  const json whole = policy();
  for (const json& operation : whole["operations"][0]["allow"]) {
    EXPECT_GT(operation.value("why", "").size(), 8U) << operation;
    allowed.insert(operation["value"].get<std::uint64_t>());
  }
  constexpr std::uint64_t kOn = 1;  // PR_SET_DUMPABLE's other value is pretended
  for (std::uint64_t operation = 0; operation < 4096; ++operation) {
    const std::uint32_t expected =
        allowed.contains(operation) ? SECCOMP_RET_ALLOW : kErrno | EINVAL;
    EXPECT_EQ(answer(call(SYS_prctl, {operation, kOn})), expected) << operation;
    EXPECT_EQ(answer(call(SYS_prctl, {operation | (1ULL << 40), kOn})), expected) << operation;
  }
  for (const std::uint64_t large :
       {0x59616d61ULL /* PR_SET_PTRACER */, 0x53564d41ULL /* PR_SET_VMA */, 0xffffffffULL}) {
    EXPECT_EQ(answer(call(SYS_prctl, {large})), kErrno | EINVAL) << large;
  }
  for (unsigned bit = 6; bit < 32; ++bit) {
    EXPECT_EQ(answer(call(SYS_prctl, {(1ULL << bit) | PR_SET_NAME})), kErrno | EINVAL) << bit;
  }
}

TEST(Policy, NothingOfBtrfs) {
  for (const std::uint64_t request : {0x50009401ULL, 0x50009417ULL, 0x5000940eULL, 0x40049409ULL}) {
    EXPECT_EQ(answer(call(SYS_ioctl, {3, request})), kErrno | EOPNOTSUPP) << std::hex << request;
  }
}

TEST(Policy, UpperHalvesOfArgumentsDoNotOpenDoors) {
  constexpr std::uint64_t kHigh = 1ULL << 32;
  EXPECT_EQ(answer(call(SYS_ioctl, {0, kHigh | 0x5412})), kErrno | EPERM) << "TIOCSTI";
  EXPECT_EQ(answer(call(SYS_fcntl, {3, kHigh | F_SETLEASE, F_WRLCK})), kErrno | EPERM);
  EXPECT_NE(answer(call(SYS_socket, {kHigh | 40, 1, 0})), SECCOMP_RET_ALLOW) << "VSOCK";
  EXPECT_NE(answer(call(SYS_personality, {kHigh | 0x0040000})), SECCOMP_RET_ALLOW);
}

struct Entry {
  json written;  // and its call's number
};

void PrintTo(const Entry& entry, std::ostream* out) {
  *out << entry.written["action"] << ' ' << entry.written["syscall"];
}

class PolicyEntry : public testing::TestWithParam<Entry> {};

std::uint32_t errno_of(const json& entry) {
  static const std::map<std::string, std::uint32_t> kErrnos = {{"EPERM", EPERM},
                                                               {"EINVAL", EINVAL},
                                                               {"ENOSYS", ENOSYS},
                                                               {"EAFNOSUPPORT", EAFNOSUPPORT},
                                                               {"EOPNOTSUPP", EOPNOTSUPP}};
  return kErrnos.at(entry["errno"].get<std::string>());
}

// A call without a condition answers as its entry says, whatever the arguments.
TEST_P(PolicyEntry, AnswersAsWritten) {
  const json& entry = GetParam().written;
  std::uint32_t expected = SECCOMP_RET_ALLOW;
  if (entry["action"] == "pretend") expected = kErrno;
  if (entry["action"] == "errno") expected = kErrno | errno_of(entry);
  seccomp_data data = call(entry["number"].get<long>());
  static const json kWhole = policy();
  for (const json& list : kWhole["operations"]) {
    if (list["syscall"] != entry["syscall"]) continue;
    data.args[list["argument"].get<std::size_t>()] = list["allow"][0]["value"].get<std::uint64_t>();
  }
  // Without a new limit it asks, which is an entry of its own.
  const bool sets_limit = entry["syscall"] == "prlimit64" && entry["action"] == "pretend";
  if (sets_limit) data.args[2] = 0x7ffe00001000;
  for (const json& when : entry.value("when", json::array())) {
    data.args[when["argument"].get<std::size_t>()] = when["equals"].get<std::uint64_t>();
  }
  EXPECT_EQ(answer(data), expected) << entry;
}

std::vector<Entry> entries_with_numbers(const std::vector<std::string>& lists = {"entries",
                                                                                 "arguments"}) {
  // Names to numbers by the compiler's own table: not by the library that compiled the policy.
  static const std::map<std::string, long> kNumbers = {
#include "syscall_numbers.inc"
  };
  std::vector<Entry> entries;
  const json whole = policy();
  for (const std::string& list : lists) {
    for (json entry : whole[list]) {
      const auto number = kNumbers.find(entry["syscall"].get<std::string>());
      if (number == kNumbers.end()) continue;
      entry["number"] = number->second;
      entries.push_back({entry});
    }
  }
  return entries;
}

std::string entry_name(const testing::TestParamInfo<Entry>& info) {
  return info.param.written["syscall"].get<std::string>() + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(Default, PolicyEntry, testing::ValuesIn(entries_with_numbers()),
                         entry_name);

TEST(Policy, WhatTheDoorIsNotToHaveIsRefused) {
  const std::vector<Entry> refused = entries_with_numbers({"door"});
  EXPECT_EQ(refused.size(), policy()["door"].size());
  for (const Entry& entry : refused) {
    seccomp_data data = call(entry.written["number"].get<long>());
    for (const json& when : entry.written.value("when", json::array())) {
      data.args[when["argument"].get<std::size_t>()] = when["equals"].get<std::uint64_t>();
    }
    EXPECT_EQ(evaluate_bpf(sandbox::policy::kDoorFilter, data).value_or(0),
              kErrno | errno_of(entry.written))
        << entry.written;
  }
  EXPECT_EQ(evaluate_bpf(sandbox::policy::kDoorFilter, call(SYS_read)).value_or(0),
            SECCOMP_RET_ALLOW);
}

TEST(Policy, EveryEntryIsHeldByATest) {
  const std::size_t written = policy()["entries"].size() + policy()["arguments"].size();
  EXPECT_EQ(entries_with_numbers().size(), written);
}

}  // namespace
