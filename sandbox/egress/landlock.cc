#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "base/fd.h"
#include "sandbox/egress/posture.h"

namespace sandbox::egress {
namespace {

using base::Error;

// <linux/landlock.h> of a later kernel than the one we are compiled on.
constexpr std::uint64_t kTruncateFile = 1ULL << 14;  // ABI 3, Linux 6.2
constexpr std::uint64_t kBindPort = 1ULL << 0;       // ABI 4, Linux 6.7
constexpr std::uint64_t kReadFiles = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWriteFiles =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;
constexpr std::uint64_t kNever = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                                 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |
                                 LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;

// struct landlock_ruleset_attr of ABI 4; what an older kernel does not know has to be 0.
struct AccessHandled {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
};

base::Status allow_below(int ruleset_fd, int parent_fd, std::uint64_t access) {
  landlock_path_beneath_attr rule{};
  rule.parent_fd = parent_fd;
  rule.allowed_access = access;
  if (::syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
    return Error::from_errno("landlock_add_rule");
  }
  return base::done();
}

// resolv.conf(5) may be a link to anywhere.
std::string folder_of_name_servers() {
  const std::string path = base::real_path("/etc/resolv.conf").value_or("");
  return path.substr(0, path.rfind('/'));
}

}  // namespace

base::Status restrict_files(int writable_fd) {
  const auto abi =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi < 0) return base::done();  // it is a second wall
  AccessHandled handled;
  handled.files = kReadFiles | kWriteFiles | kNever | (abi >= 3 ? kTruncateFile : 0);
  handled.network = abi >= 4 ? kBindPort : 0;
  const base::UniqueFd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0)));
  if (!ruleset.valid()) return Error::from_errno("landlock_create_ruleset");
  // getaddrinfo(3) loads modules, and asks by sockets in /run and /var.
  for (const std::string& path :
       {std::string("/etc"), std::string("/usr"), std::string("/lib"), std::string("/lib64"),
        std::string("/nix/store"), std::string("/run"), std::string("/var/lib/sss"),
        folder_of_name_servers()}) {
    const base::UniqueFd folder(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (folder.valid()) TRY(allow_below(ruleset.get(), folder.get(), kReadFiles));
  }
  if (writable_fd >= 0) {
    TRY(allow_below(ruleset.get(), writable_fd,
                    (kReadFiles | kWriteFiles | kTruncateFile) & handled.files));
  }
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return Error::from_errno("landlock_restrict_self");
  }
  return base::done();
}

}  // namespace sandbox::egress
