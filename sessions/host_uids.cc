#include "sessions/host_uids.h"

#include <sys/stat.h>

#include "base/digest.h"
#include "base/text.h"

namespace sessions {
namespace {

constexpr std::int64_t kFirst = 1'900'000'000;
constexpr std::int64_t kStarts = 190'000'000;
constexpr std::int64_t kCount = 100'000;
constexpr std::size_t kDigits = 15;  // so many of a hash, so that they fit

}  // namespace

base::Result<HostUidRange> host_uids_of(const std::string& state_directory) {
  struct stat status {};
  if (::stat(state_directory.c_str(), &status) != 0) {
    return base::Error::from_errno("look at " + state_directory);
  }
  const std::string hash =
      TRY(base::sha256_hex(std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino)));
  const auto number = base::number_of<std::int64_t>(hash.substr(0, kDigits), 16).value_or(0);
  return HostUidRange{kFirst + number % kStarts, kCount - 1};
}

}  // namespace sessions
