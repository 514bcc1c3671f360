#include "sandbox/dropped_outputs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/fd.h"
#include "sandbox/session_parts.h"

namespace sandbox {

namespace {

constexpr std::size_t kCountBytesMax = 64;

DroppedOutputs read_dropped(int fd) {
  DroppedOutputs counted;
  char text[kCountBytesMax] = {};
  if (::pread(fd, text, sizeof text - 1, 0) <= 0) return counted;
  long long runs = 0;
  long long bytes = 0;
  if (std::sscanf(text, "%lld %lld", &runs, &bytes) == 2) counted = {runs, bytes};
  return counted;
}

// Whoever has the lock has it for a moment; hutch-box waits for nobody.
base::UniqueFd open_dropped(int session_fd, int flags, int lock) {
  base::UniqueFd file(
      ::openat(session_fd, kDroppedOutputsPart, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600));
  if (file.valid() && ::flock(file.get(), lock) != 0) file.reset();
  return file;
}

}  // namespace

bool add_dropped_outputs(int session_fd, const DroppedOutputs& more) {
  const base::UniqueFd file = open_dropped(session_fd, O_CREAT, LOCK_EX | LOCK_NB);
  if (!file.valid()) return false;
  const DroppedOutputs before = read_dropped(file.get());
  const std::string text = std::to_string(before.runs + more.runs) + " " +
                           std::to_string(before.bytes + more.bytes) + "\n";
  return ::pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

DroppedOutputs take_dropped_outputs(int session_fd) {
  const base::UniqueFd file = open_dropped(session_fd, 0, LOCK_EX);
  if (!file.valid()) return {};
  const DroppedOutputs counted = read_dropped(file.get());
  if (::ftruncate(file.get(), 0) != 0) return {};
  return counted;
}

}  // namespace sandbox
