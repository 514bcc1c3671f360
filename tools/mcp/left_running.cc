#include "tools/mcp/left_running.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "sandbox/files/open_in_root.h"
#include "sessions/boxes.h"
#include "sessions/sessions.h"

namespace tools {

namespace {

// It may begin while the run is at its end, and both clocks are coarse.
constexpr std::int64_t kSlackMs = 2'000;

// Fields of /proc/PID/stat behind the name, which may have blanks itself.
bool lives_since_before(int root_fd, pid_t pid, std::int64_t moment_ms) {
  const base::UniqueFd file = sandbox::files::open_without_links(
      root_fd, "proc/" + std::to_string(pid) + "/stat", O_RDONLY);
  if (!file.valid()) return false;
  constexpr std::size_t kStatBytes = 4096;
  const auto text = base::read_all(file.get(), kStatBytes);
  if (!text.ok()) return false;
  const std::size_t name_end = text.value().rfind(") ");
  if (name_end == std::string::npos) return false;
  const auto fields = base::split(std::string_view(text.value()).substr(name_end + 2), ' ');
  constexpr std::size_t kState = 0;
  constexpr std::size_t kStartTime = 19;
  if (fields.size() <= kStartTime || fields[kState] == "Z" || fields[kState] == "X") return false;
  std::int64_t ticks = 0;
  const std::string_view start = fields[kStartTime];
  if (std::from_chars(start.data(), start.data() + start.size(), ticks).ec != std::errc()) {
    return false;
  }
  timespec since_boot{};
  (void)::clock_gettime(CLOCK_BOOTTIME, &since_boot);
  const std::int64_t boot_ms =
      base::now_ms() - (std::int64_t{since_boot.tv_sec} * 1000 + since_boot.tv_nsec / 1'000'000);
  return boot_ms + ticks * 1000 / ::sysconf(_SC_CLK_TCK) <= moment_ms + kSlackMs;
}

}  // namespace

void drop_ended(const Services& services, const std::string& principal_id,
                sessions::RunState& state) {
  if (state.run.left_running.empty()) return;
  const auto session = services.sessions.find(principal_id, state.session_id);
  if (!session.ok()) return;
  const auto root = services.boxes.look_at_root(session.value());
  for (sandbox::LeftRunning& left : state.run.left_running) {
    leave_out_ended(left, [&](pid_t pid) {
      return root.ok() && lives_since_before(root.value().get(), pid, state.run.finished_at_ms);
    });
  }
}

}  // namespace tools
