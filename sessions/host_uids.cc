#include "sessions/host_uids.h"

#include <sys/stat.h>

#include <charconv>

#include "sessions/sha256.h"

namespace sessions {
namespace {

constexpr std::int64_t kFirst = 1'900'000'000;
constexpr std::int64_t kStarts = 190'000'000;
constexpr std::int64_t kCount = 100'000;
constexpr std::size_t kDigits = 15;  // of a hash, so that they fit

}  // namespace

base::Result<HostUidRange> host_uids_of(const std::string& state_directory) {
  struct stat status {};
  if (::stat(state_directory.c_str(), &status) != 0) {
    return base::Error::from_errno("look at " + state_directory);
  }
  const std::string hash =
      TRY(sha256_hex(std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino)));
  std::int64_t number = 0;
  std::from_chars(hash.data(), hash.data() + kDigits, number, 16);
  return HostUidRange{kFirst + number % kStarts, kCount - 1};
}

}  // namespace sessions
