#include "base/boot_clock.h"

#include <fcntl.h>
#include <time.h>

#include "base/fd.h"

namespace base {
namespace {

constexpr std::size_t kBootIdBytesMax = 256;

std::int64_t milliseconds_of(clockid_t clock) {
  timespec now{};
  (void)::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

std::string read_boot_id() {
  const auto file = open_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY);
  if (!file.ok()) return "";
  const auto text = read_all(file.value().get(), kBootIdBytesMax);
  return text.ok() ? text.value().substr(0, text.value().find('\n')) : "";
}

}  // namespace

std::int64_t boottime_ms() { return milliseconds_of(CLOCK_BOOTTIME); }

std::int64_t uptime_ms() { return milliseconds_of(CLOCK_MONOTONIC); }

const std::string& boot_id() {
  static const std::string id = read_boot_id();
  return id;
}

}  // namespace base
