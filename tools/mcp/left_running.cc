#include "tools/mcp/left_running.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "sandbox/files/open_in_root.h"
#include "sessions/boxes.h"
#include "sessions/sessions.h"

namespace tools {

namespace {

constexpr std::string_view kHead = "left running by this run: ";
constexpr std::string_view kTail = "; get_run of this run has what it prints later";
// It may begin while the run is at its end, and both clocks are coarse.
constexpr std::int64_t kSlackMs = 2'000;
constexpr std::size_t kNumbersBytesMax = 600;
constexpr std::size_t kLookedAtMax = 100;

// The numbers of "(pid 3)" or "(pids 3 4)" at the beginning of `text`; none where it is no such.
std::vector<pid_t> pids_at(std::string_view text) {
  std::vector<pid_t> pids;
  const std::size_t space = text.find(' ');
  const std::size_t close = text.find(')');
  if (space == text.npos || close == text.npos || close < space) return pids;
  if (text.substr(0, space) != "(pid" && text.substr(0, space) != "(pids") return pids;
  for (const std::string_view number :
       base::split(text.substr(space + 1, close - space - 1), ' ')) {
    pid_t pid = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), pid);
    if (read.ec != std::errc() || read.ptr != number.data() + number.size()) return {};
    pids.push_back(pid);
  }
  return pids;
}

// Where what is said of them ends, behind how one ends them; npos: it says something else.
std::size_t end_of_advice(const std::string& note, std::size_t advice) {
  std::size_t end = note.npos;
  for (const std::string_view last : {" ends it", "variables too"}) {
    const std::size_t place = note.find(last, advice);
    if (place != note.npos) end = std::min(end, place + last.size());
  }
  if (end == note.npos) return end;
  return end + (std::string_view(note).substr(end).starts_with(kTail) ? kTail.size() : 0);
}

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

std::string without_ended(const std::string& note, const std::function<bool(pid_t)>& lives) {
  const std::size_t head = note.find(kHead);
  if (head == note.npos) return note;
  const std::size_t begin = head + kHead.size();
  const std::size_t advice =
      std::min(note.find("; kill PID", begin), note.find("; kill with all its PIDs", begin));
  const std::size_t end = advice == note.npos ? note.npos : end_of_advice(note, advice);
  if (end == note.npos) return note;
  const std::string rest = without_ended(note.substr(end), lives);
  std::string living;
  bool has_ended = false;
  std::size_t item = begin;  // it begins here, and ends with its numbers
  std::size_t looked_at = 0;
  for (std::size_t at = begin; (at = note.find("(pid", at)) < advice; ++at) {
    const std::size_t close = note.find(')', at);
    if (close >= advice || close - at > kNumbersBytesMax) continue;
    const std::vector<pid_t> pids = pids_at(std::string_view(note).substr(at, close + 1 - at));
    if (pids.empty()) continue;
    looked_at += pids.size();
    if (looked_at > kLookedAtMax) return note;
    at = close;
    if (std::any_of(pids.begin(), pids.end(), lives)) {
      base::append_part(living, note.substr(item, at + 1 - item), ", ");
    } else {
      has_ended = true;
    }
    item = std::min(at + 1 + std::string_view(", ").size(), advice);
    if (note.compare(at + 1, 2, ", ") != 0 || note.compare(item, 4, "and ") == 0) {
      item = at + 1;  // how many more there were
      break;
    }
  }
  const std::string more = note.substr(item, advice - item);
  // Nothing is known of those that are only counted.
  if (!has_ended || (living.empty() && !more.empty())) return note.substr(0, end) + rest;
  if (!living.empty()) {
    return note.substr(0, begin) + living + more + note.substr(advice, end - advice) + rest;
  }
  std::string left = note.substr(0, head);
  std::string_view behind = rest;
  while (left.ends_with("; ") || left.ends_with(' ')) left.pop_back();
  if (left.ends_with(';')) left.pop_back();
  if (behind.starts_with("; ")) behind.remove_prefix(2);
  base::append_part(left, std::string(behind), "; ");
  return left;
}

void drop_ended(const Services& services, const std::string& principal_id,
                sessions::RunState& state) {
  if (state.run.note.find(kHead) == std::string::npos) return;
  const auto session = services.sessions.find(principal_id, state.session_id);
  if (!session.ok()) return;
  const auto root = services.boxes.look_at_root(session.value());
  state.run.note = without_ended(state.run.note, [&](pid_t pid) {
    return root.ok() && lives_since_before(root.value().get(), pid, state.run.finished_at_ms);
  });
}

}  // namespace tools
