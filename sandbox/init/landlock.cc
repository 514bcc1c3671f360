// A second wall around files, for the day a descriptor or a mount of the host leaks into the box:
// what does not lie below the box's own root is out of reach even by descriptor. landlock(7).
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "sandbox/init/report.h"
#include "sandbox/init/steps.h"
#include "sandbox/wire/plan_format.h"

namespace sandbox::init {
namespace {

// <linux/landlock.h> of a later kernel than the one we are compiled on.
constexpr std::uint64_t kTruncate = 1ULL << 14;            // ABI 3, Linux 6.2
constexpr std::uint64_t kIoctlDevice = 1ULL << 15;         // ABI 5, Linux 6.10
constexpr std::uint64_t kScopeAbstractSocket = 1ULL << 0;  // ABI 6, Linux 6.12
constexpr std::uint64_t kScopeSignal = 1ULL << 1;          // ABI 6

// struct landlock_ruleset_attr up to ABI 6. The kernel takes a longer one than it knows as long as
// what it does not know is 0.
struct Ruleset {
  std::uint64_t files = 0;
  std::uint64_t network = 0;  // the box has a network namespace of its own
  std::uint64_t scoped = 0;
};

constexpr std::uint64_t kRead =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kUse = LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kIoctlDevice;
constexpr std::uint64_t kChange = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                  LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                  LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                                  LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |
                                  LANDLOCK_ACCESS_FS_REFER | kTruncate;
// Nobody may make device nodes.
constexpr std::uint64_t kDevices = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;

Ruleset known_to(int abi) {
  Ruleset ruleset;
  ruleset.files = kRead | kUse | kChange | kDevices;
  if (abi < 2) ruleset.files &= ~static_cast<std::uint64_t>(LANDLOCK_ACCESS_FS_REFER);
  if (abi < 3) ruleset.files &= ~kTruncate;
  if (abi < 5) ruleset.files &= ~kIoctlDevice;
  if (abi >= 6) ruleset.scoped = kScopeAbstractSocket | kScopeSignal;
  return ruleset;
}

// Some distributions report an ABI of which they carry only a part, so what is refused is asked
// for again without the scopes.
int create(Ruleset& ruleset) {
  int fd = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &ruleset, sizeof ruleset, 0));
  if (fd < 0 && errno == EINVAL && ruleset.scoped != 0) {
    ruleset.scoped = 0;
    fd = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &ruleset, sizeof ruleset, 0));
  }
  return must(fd, "landlock_create_ruleset");
}

std::uint64_t rights_of(const char* letter) {
  switch (letter[0]) {
    case 'w':
      return kRead | kChange;
    case 'u':
      return kRead | kUse;
    default:
      return kRead;
  }
}

void allow(int ruleset_fd, const Ruleset& ruleset, const wire::PlanRecord& record) {
  landlock_path_beneath_attr rule{};
  rule.parent_fd = must(::open(record.fields[0], O_PATH | O_CLOEXEC | O_NOFOLLOW),
                        "open for Landlock", record.fields[0]);
  rule.allowed_access = rights_of(record.fields[1]) & ruleset.files;
  must(static_cast<int>(
           ::syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0)),
       "landlock_add_rule", record.fields[0]);
  must(::close(rule.parent_fd), "close");
}

}  // namespace

int restrict_files(const Plan& plan) {
  const int abi = static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
  // Not in this kernel, or not switched on: the session record says so.
  if (abi < 0 && (errno == ENOSYS || errno == EOPNOTSUPP)) return 0;
  must(abi, "ask for the Landlock ABI");
  Ruleset ruleset = known_to(abi);
  const int fd = create(ruleset);
  wire::PlanReader reader(plan.bytes, plan.size);
  wire::PlanRecord record;
  while (reader.next(record)) {
    if (record.op == wire::PlanOp::kAccess) allow(fd, ruleset, record);
  }
  must(static_cast<int>(::syscall(SYS_landlock_restrict_self, fd, 0)), "landlock_restrict_self");
  must(::close(fd), "close");
  return abi;
}

}  // namespace sandbox::init
