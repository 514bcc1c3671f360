#include "sandbox/box/bash_state.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "sandbox/files/open_in_root.h"

namespace sandbox::box {
namespace {

constexpr std::size_t kLineBytesMax = 24;

// Returns the number of a file that is whole: its first line is "#" and the number, and so is its
// last. Returns 0 for others.
std::int64_t number_of(int root_fd, const char* path) {
  const base::UniqueFd place = files::open_without_links(root_fd, path, O_PATH);
  struct stat status {};
  if (!place.valid() || ::fstat(place.get(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  const base::UniqueFd file = files::reopen(place.get(), O_RDONLY);
  if (!file.valid()) return 0;
  const auto head = base::read_at(file.get(), 0, kLineBytesMax);
  const off_t tail_at = std::max<off_t>(0, status.st_size - static_cast<off_t>(kLineBytesMax));
  const auto tail = base::read_at(file.get(), tail_at, kLineBytesMax);
  if (!head.ok() || !tail.ok() || !head.value().starts_with('#')) return 0;
  const std::string line = head.value().substr(0, head.value().find('\n')) + "\n";
  if (!tail.value().ends_with("\n" + line)) return 0;
  std::int64_t number = 0;
  std::from_chars(line.data() + 1, line.data() + line.size(), number);
  return number;
}

}  // namespace

std::int64_t bash_state_number(int root_fd) {
  return std::max(number_of(root_fd, "run/hutch/state/bash.0"),
                  number_of(root_fd, "run/hutch/state/bash.1"));
}

}  // namespace sandbox::box
