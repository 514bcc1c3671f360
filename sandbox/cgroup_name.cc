#include "sandbox/cgroup_name.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "sandbox/cgroup_directory.h"
#include "sandbox/session_parts.h"

namespace sandbox {
namespace {

constexpr const char* kCgroupPrefix = "hutch-";

std::string in_hexadecimal(std::uint64_t number) {
  std::array<char, 16> digits{};
  char* const end = std::to_chars(digits.begin(), digits.end(), number, 16).ptr;
  return {digits.begin(), end};
}

}  // namespace

std::string cgroup_name(const std::string& session_directory) {
  struct stat sessions {};
  const auto slash = session_directory.rfind('/');
  // Where it is gone nothing can be started, and nothing was made by the name that comes of it.
  (void)::stat(session_directory.substr(0, slash).c_str(), &sessions);
  return former_cgroup_name(session_directory) + "-" + in_hexadecimal(sessions.st_dev) + "-" +
         in_hexadecimal(sessions.st_ino);
}

std::string former_cgroup_name(const std::string& session_directory) {
  return kCgroupPrefix + session_directory.substr(session_directory.rfind('/') + 1);
}

bool is_cgroup_of(const std::string& cgroup_directory, const std::string& session_directory) {
  struct stat ours {};
  if (::stat(session_part(session_directory, kWorkspacePart).c_str(), &ours) != 0) return false;
  const auto pids = read_cgroup_words(cgroup_directory + "/cgroup.procs");
  return std::any_of(pids.begin(), pids.end(), [&ours](const std::string& pid) {
    struct stat theirs {};
    // The root of a box is read-only: no code in it has put another /workspace there.
    return ::stat(("/proc/" + pid + "/root/workspace").c_str(), &theirs) == 0 &&
           theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
  });
}

}  // namespace sandbox
