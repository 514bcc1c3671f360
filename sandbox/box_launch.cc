#include "sandbox/box_launch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "base/process.h"
#include "sandbox/host_capacity.h"
#include "sandbox/session_parts.h"
#include "sandbox/wire/box_protocol.h"

namespace sandbox {

using base::Error;
using std::chrono::milliseconds;
using LaunchClock = std::chrono::steady_clock;

namespace {

constexpr milliseconds kDyingPatience{2000};
constexpr int kStatusPauseMs = 5;
constexpr int kStatusLooks = 100;
constexpr std::size_t kReadyBytesMax = 64 * 1024;
constexpr std::size_t kLastWordsMax = 64 * 1024;

// Not to the end of the pipe: something may hold it open that hutch-box has started.
base::Result<std::string> read_ready_line(int fd, milliseconds patience) {
  const auto deadline = LaunchClock::now() + patience;
  std::string line;
  while (!line.ends_with('\n')) {
    const short events = TRY(base::wait_for(fd, POLLIN, deadline));
    if (events == 0) return base::error(Error::Kind::kCapacity, "the sandbox does not start");
    char buffer[4096];
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno("read what hutch-box says");
    if (got == 0) break;
    line.append(buffer, static_cast<std::size_t>(got));
    if (line.size() > kReadyBytesMax) {
      return base::error(Error::Kind::kInternal, "hutch-box says too much");
    }
  }
  return line;
}

// Returns what was written to the log behind `from`.
std::string words_since(const std::string& log, off_t from) {
  const auto file = base::open_file(AT_FDCWD, log, O_RDONLY | O_NOFOLLOW);
  if (!file.ok() || ::lseek(file.value().get(), from, SEEK_SET) < 0) return "";
  const auto words = base::read_all(file.value().get(), kLastWordsMax);
  return words.ok() ? words.value() : "";
}

bool speaks_of_memory(const std::string& words) {
  // By the C++ library, and by strerror(3), as by the loader of shared libraries.
  for (const char* part : {"bad_alloc", "annot allocate memory"}) {
    if (words.find(part) != std::string::npos) return true;
  }
  return false;
}

// How it has ended is known a moment after its end where SIGCHLD is ignored.
std::optional<bool> was_killed_soon(int process) {
  auto killed = was_killed(process);
  for (int look = 0; process >= 0 && !killed && look < kStatusLooks; ++look) {
    (void)::poll(nullptr, 0, kStatusPauseMs);
    killed = was_killed(process);
  }
  return killed;
}

// Returns how often the kernel has killed a process of this machine to make room in memory, since
// its start; 0 where nobody can know.
std::int64_t count_oom_kills() {
  std::ifstream counters("/proc/vmstat");
  std::string name;
  std::int64_t count = 0;
  while (counters >> name >> count) {
    if (name == "oom_kill") return count;
  }
  return 0;
}

// Counted at the first start, and then at each that fails: a read at each start would cost more.
std::atomic<std::int64_t>& known_oom_kills() {
  static std::atomic<std::int64_t> known{count_oom_kills()};
  return known;
}

// It has closed its pipe, and has said nothing.
Error why_it_died(int process, const std::string& words) {
  if (process >= 0) {
    (void)base::wait_for(process, POLLIN, LaunchClock::now() + kDyingPatience);
  }
  const std::int64_t kills = count_oom_kills();
  const bool has_made_room = known_oom_kills().exchange(kills) < kills;
  // Where nobody can know how it ended, an error of its own would have had a word: without one it
  // was killed, if it ended as soon as it began (there is no `process`) or the kernel has made
  // room.
  const bool is_likely = words.empty() && (process < 0 || has_made_room);
  const bool was_ended = was_killed_soon(process).value_or(is_likely);
  if (was_ended || speaks_of_memory(words)) {
    return base::error(Error::Kind::kCapacity,
                       "hutch-box was ended while it started, as happens where memory is short");
  }
  return base::error(Error::Kind::kInternal, "hutch-box died; see box.log");
}

}  // namespace

base::Status launch_box(const BoxSpec& spec, const SessionLock& lock, milliseconds patience) {
  const std::string log_path = session_part(spec.session_directory, kBoxLogPart);
  const base::UniqueFd null = TRY(base::open_file(AT_FDCWD, "/dev/null", O_RDWR));
  const base::UniqueFd log =
      TRY(base::open_file(AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600));
  (void)known_oom_kills();
  const off_t log_end = ::lseek(log.get(), 0, SEEK_END);
  const base::UniqueFd text =
      TRY(base::make_memory_file("hutch-box", base::print_json(spec_to_json(spec))));
  base::Pipe ready = TRY(base::make_pipe());
  base::SpawnOptions options;
  options.arguments = {spec.program_directory + "/hutch-box"};
  options.descriptors = {null.get(), null.get(), log.get(), text.get(), ready.write_end.get(),
                         lock.fd()};
  options.own_session = true;
  const pid_t pid = TRY(base::spawn(options));
  const base::UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  ready.write_end.reset();
  auto line = read_ready_line(ready.read_end.get(), patience);
  std::optional<Error> died;
  if (line.ok() && !line.value().ends_with('\n')) {
    died = why_it_died(process.get(), words_since(log_path, log_end));
  }
  // A hutch-box that does not say that it is ready is not left to become so.
  if ((!line.ok() || died) && process.valid()) {
    (void)::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
    (void)base::wait_for(process.get(), POLLIN, LaunchClock::now() + kDyingPatience);
  }
  if (!line.ok()) return std::move(line).error();
  if (died) return *std::move(died);
  const nlohmann::json reply = TRY(base::parse_json(line.value()));
  return wire::check_reply(reply);
}

}  // namespace sandbox
