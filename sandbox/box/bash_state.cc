#include "sandbox/box/bash_state.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "sandbox/files/open_in_root.h"

namespace sandbox::box {
namespace {

constexpr std::size_t kLineBytesMax = 24;
constexpr std::array<const char*, 2> kPaths{"run/hutch/state/bash.0", "run/hutch/state/bash.1"};

// Opens one of the files, if it is a regular one.
base::UniqueFd open_state(int root_fd, const char* path, off_t& size) {
  const base::UniqueFd place = files::open_without_links(root_fd, path, O_PATH);
  struct stat status {};
  if (!place.valid() || ::fstat(place.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  size = status.st_size;
  return files::reopen(place.get(), O_RDONLY);
}

std::int64_t number_between(std::string_view head, std::string_view tail) {
  if (!head.starts_with('#')) return 0;
  const std::string line = std::string(head.substr(0, head.find('\n'))) + "\n";
  if (!tail.ends_with("\n" + line)) return 0;
  std::int64_t number = 0;
  std::from_chars(line.data() + 1, line.data() + line.size(), number);
  return number;
}

std::int64_t number_in(int root_fd, const char* path) {
  off_t size = 0;
  const base::UniqueFd file = open_state(root_fd, path, size);
  if (!file.valid()) return 0;
  const auto head = base::read_at(file.get(), 0, kLineBytesMax);
  const off_t tail_at = std::max<off_t>(0, size - static_cast<off_t>(kLineBytesMax));
  const auto tail = base::read_at(file.get(), tail_at, kLineBytesMax);
  return head.ok() && tail.ok() ? number_between(head.value(), tail.value()) : 0;
}

}  // namespace

std::int64_t bash_state_number(int root_fd) {
  return std::max(number_in(root_fd, kPaths[0]), number_in(root_fd, kPaths[1]));
}

std::int64_t bash_state_number_of(const std::string& state) {
  const std::string_view text = state;
  return number_between(text.substr(0, kLineBytesMax),
                        text.substr(text.size() - std::min(text.size(), kLineBytesMax)));
}

std::string_view bash_state_body(const std::string& state) {
  if (bash_state_number_of(state) == 0) return {};
  const std::size_t line_bytes = state.find('\n') + 1;
  if (state.size() < 2 * line_bytes) return {};
  return std::string_view(state).substr(line_bytes, state.size() - 2 * line_bytes);
}

std::string newest_bash_state(int root_fd, std::size_t bytes_max) {
  std::string newest;
  for (const char* path : kPaths) {
    off_t size = 0;
    const base::UniqueFd file = open_state(root_fd, path, size);
    if (!file.valid() || static_cast<std::size_t>(size) > bytes_max) continue;
    auto state = base::read_at(file.get(), 0, static_cast<std::size_t>(size));
    if (!state.ok() || bash_state_number_of(state.value()) <= bash_state_number_of(newest))
      continue;
    newest = std::move(state).value();
  }
  return newest;
}

}  // namespace sandbox::box
