#include "sandbox/zygote.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/process.h"
#include "base/unix_socket.h"
#include "sandbox/environment.h"
#include "sandbox/wire/zygote_protocol.h"

namespace sandbox {
namespace {

constexpr std::chrono::milliseconds kPatience{100};
// Between attempts: doubled each time, since what failed once most often fails again.
constexpr std::chrono::seconds kPause{5};
constexpr int kDoublingsMax = 7;
constexpr int kLookPauseMs = 50;
constexpr const char* kLogName = "zygote.log";

bool is_open(const base::UniqueFd& connection) {
  if (!connection.valid()) return false;
  const auto events = base::wait_for(connection.get(), POLLIN, std::chrono::steady_clock::now());
  return events.ok() && events.value() == 0;  // it never says anything
}

std::string_view bytes_of(const wire::ZygoteRequest& request) {
  return {reinterpret_cast<const char*>(&request), sizeof request};
}

}  // namespace

std::string zygote_directory_of(const std::string& of_host, const std::string& environment) {
  if (environment.empty()) return of_host;
  return of_host + environment.substr(environment.rfind('/'));
}

Zygote::Zygote(const SandboxConfig& config, std::string environment_directory)
    : config_(config),
      environment_directory_(std::move(environment_directory)),
      directory_(zygote_directory_of(config.zygote_directory, environment_directory_)) {}

void Zygote::ensure() {
  if (config_.zygote != SandboxConfig::Zygote::kStart) return;
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  last_ensured_ = now;
  if (is_open(connection_)) {
    if (now > not_before_) attempts_ = 0;  // it has proved to live
    return;
  }
  connection_.reset();
  if (now < not_before_) return;
  if (attach().ok()) {
    attempts_ = 0;
    return;
  }
  not_before_ = now + kPause * (1 << std::min(attempts_++, kDoublingsMax));
  (void)start();  // its log says why it failed
}

void Zygote::let_go() {
  const std::lock_guard lock(mutex_);
  connection_.reset();
}

std::chrono::steady_clock::time_point Zygote::last_ensured() const {
  const std::lock_guard lock(mutex_);
  return last_ensured_;
}

base::Status Zygote::attach() {
  const base::UniqueFd directory = TRY(base::open_file(AT_FDCWD, directory_, O_PATH | O_DIRECTORY));
  base::UniqueFd connection =
      TRY(base::connect_to(directory.get(), wire::kZygoteSocket, kPatience, SOCK_SEQPACKET));
  const wire::ZygoteRequest request(wire::ZygoteMessage::kAttach);
  TRY(base::send_packet(connection.get(), bytes_of(request), nullptr, 0));
  connection_ = std::move(connection);
  return base::done();
}

base::Status Zygote::start() {
  if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) {
    return base::Error::from_errno("make " + directory_);
  }
  const base::UniqueFd directory =
      TRY(base::open_file(AT_FDCWD, directory_, O_RDONLY | O_DIRECTORY));
  const base::UniqueFd null = TRY(base::open_file(AT_FDCWD, "/dev/null", O_RDWR));
  const base::UniqueFd log = TRY(base::open_file(
      directory.get(), kLogName, O_WRONLY | O_CREAT | O_APPEND | O_TRUNC | O_NOFOLLOW, 0600));
  // The zygote has this lock by its standard error, as long as it lives: see zygote_lives().
  (void)::flock(log.get(), LOCK_SH);
  base::SocketPair pair = TRY(base::make_socket_pair(SOCK_SEQPACKET));
  base::SpawnOptions options;
  options.arguments = {config_.program_directory + "/hutch-init", "--zygote",
                       config_.data_directory + "/runners/zygote/zygote.py",
                       config_.program_directory + "/hutch-zygote.so", directory_};
  options.descriptors = {null.get(), null.get(), log.get(), pair.theirs.get(), directory.get()};
  base::UniqueFd kept;
  if (!environment_directory_.empty()) {
    kept = TRY(use_environment(environment_directory_));
    options.arguments.push_back(environment_directory_);
    options.descriptors.push_back(kept.get());
  }
  options.own_session = true;
  TRY(base::spawn(options));
  connection_ = std::move(pair.ours);
  return base::done();
}

bool zygote_lives(const std::string& directory_path) {
  const auto log = base::open_file(AT_FDCWD, directory_path + "/" + kLogName, O_RDONLY);
  return log.ok() && ::flock(log.value().get(), LOCK_EX | LOCK_NB) != 0;
}

base::Status wait_for_zygote(const std::string& directory_path, std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const base::UniqueFd directory =
      TRY(base::open_file(AT_FDCWD, directory_path, O_PATH | O_DIRECTORY));
  while (!base::connect_to(directory.get(), wire::kZygoteSocket, kPatience, SOCK_SEQPACKET).ok()) {
    // Without a Python, for one, it ends as soon as it is started.
    if (std::chrono::steady_clock::now() >= deadline || !zygote_lives(directory_path)) {
      return base::error(base::Error::Kind::kUnavailable, words_of_zygote(directory_path));
    }
    (void)::poll(nullptr, 0, kLookPauseMs);
  }
  return base::done();
}

std::string words_of_zygote(const std::string& directory_path) {
  constexpr std::size_t kLogBytesMax = 64 * 1024;
  const auto log = base::open_file(AT_FDCWD, directory_path + "/" + kLogName, O_RDONLY);
  if (!log.ok()) return "it was not started";
  const auto read = base::read_all(log.value().get(), kLogBytesMax);
  std::string text = read.ok() ? read.value() : "";
  while (text.ends_with('\n')) text.pop_back();
  text.erase(0, text.rfind('\n') + 1);
  if (text.empty()) text = "it is not warm yet, and says nothing";
  return text;
}

}  // namespace sandbox
